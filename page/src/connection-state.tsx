/** Whether what the page shows is live, in words and colour. */
import { connection, reconnects } from './connection.js';

const WORDS = { connecting: 'Connecting', live: 'Live', lost: 'Reconnecting' } as const;

export function ConnectionState() {
  const status = connection.value;
  const again = reconnects.value === 0 ? '' : `; connected again ${reconnects.value} times since the page was opened`;
  return (
    <span class={`connection ${status}`} role="status" data-status={status} title={`Connection to the exchange${again}`}>
      {WORDS[status]}
    </span>
  );
}
