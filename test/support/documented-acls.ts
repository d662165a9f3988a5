/** The rights that docs/kafka.md gives to each of Kafka's users, from its commands. */
import { readFileSync } from 'node:fs';

export interface DocumentedAcl {
  readonly user: 'publisher' | 'settlement' | 'outsider';
  readonly operation: 'CREATE' | 'DESCRIBE_CONFIGS' | 'READ' | 'WRITE';
  readonly resource: 'TOPIC' | 'GROUP';
}

const PAGE = new URL('../../../docs/kafka.md', import.meta.url);

/** One per user, operation and kind of resource. */
export function documentedAcls(): readonly DocumentedAcl[] {
  const commands = readFileSync(PAGE, 'utf8').replaceAll(/\\\n\s*/g, '').split('\n').filter((line) => line.startsWith('kafka-acls.sh '));
  return commands.flatMap((command) => {
    const [, user] = /--allow-principal User:(\w+)/.exec(command) ?? [];
    const [, resource] = /--(topic|group) /.exec(command) ?? [];
    return [...command.matchAll(/--operation (\w+)/g)].map(([, operation = '']) => ({
      user, operation: operation.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase(), resource: resource?.toUpperCase(),
    } as DocumentedAcl));
  });
}
