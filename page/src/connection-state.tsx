/** Whether what the page shows is live, in words and colour. */
import { connection, reconnects } from './connection.js';

const WORDS = { connecting: 'Connecting', live: 'Live', lost: 'Reconnecting' } as const;

export function ConnectionState() {
  const status = connection.value;
  const times = reconnects.value;
  const again = times === 0 ? '' : `; connected again ${times} times since the page was opened`;
  return (
    <span
      class={`connection ${status}`} role="status" data-status={status} title={`Connection to the exchange${again}`}
    >
      {WORDS[status]}
    </span>
  );
}
