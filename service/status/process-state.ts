/** What a process says of itself, whatever its roles are: its clock, databases, disks and connections. */
import { Type, type Static } from '../../engine/records/schema-types.js';
import type { Alert, Metric, StateTable } from '../../engine/state-table.js';
import * as field from '../../engine/records/answer-fields.js';
import { DATABASES, ROLE_NAMES, type DatabaseName, type RoleName } from '../process/roles.js';

const clockSchema = field.answer('ClockReadiness', {
  trusted: Type.Boolean({ description: 'While the clock is not trusted, orders are refused and no time passes in the history.' }),
  doubts: Type.Array(Type.String(), { description: 'Why the clock is not trusted; empty while it is.' }),
  time: Type.String({ description: 'The trusted time, ISO 8601 in UTC.' }),
  wallAheadMs: Type.Integer({ description: 'The machine\'s clock minus the trusted time, in milliseconds.' }),
  databaseAheadMs: field.orNull(Type.Integer(),
    'The clock of the log\'s database minus the trusted time; null while it is not known.'),
  historyAheadMs: field.orNull(Type.Integer(),
    'The latest time in the history minus the trusted time; null while the history is empty or not known here.'),
});

export type ClockState = Static<typeof clockSchema>;

export const clockState: StateTable<ClockState & { readonly stampsCommands: boolean }> = {
  shows: { part: 'clock', single: true, schema: clockSchema, description: 'The process\'s clock.' },
  rows: [
    {
      name: 'exchange_clock_trusted', help: '1 while the clock is trusted: orders are taken and time passes',
      value: ({ trusted }) => trusted ? 1 : 0,
      notReady: {
        when: '0, in a process that stamps commands',
        reasons: ({ doubts, stampsCommands }) => stampsCommands ? doubts.map((doubt) => `the clock is not trusted: ${doubt}`) : [],
      },
      alerts: [{
        name: 'ExchangeClockUntrusted', severity: 'critical', when: { is: 0 }, forS: 15, selfLogged: () => true,
        means: '{process} does not trust its clock.',
        todo: 'Orders are refused there. Look at NTP on the machine and on that of the log: docs/conditions.md.',
      }],
    },
    {
      name: 'exchange_clock_wall_ahead_seconds', help: 'The wall clock minus the trusted time',
      value: ({ wallAheadMs }) => wallAheadMs / 1_000,
    },
    {
      name: 'exchange_clock_database_ahead_seconds', help: 'The clock of the log\'s database minus the trusted time',
      value: ({ databaseAheadMs }) => (databaseAheadMs ?? 0) / 1_000,
    },
    {
      name: 'exchange_clock_history_ahead_seconds', help: 'The latest time in the history minus the trusted time',
      value: ({ historyAheadMs }) => (historyAheadMs ?? 0) / 1_000,
    },
  ],
};

const databaseSchema = field.answer('DatabaseReadiness', {
  name: field.oneOf(DATABASES, 'What the database is for.'), answers: Type.Boolean(),
  lastError: field.orNull(Type.String(), 'Why it does not answer; null while it does.'),
});

export interface DatabaseState extends Omit<Static<typeof databaseSchema>, 'name'> {
  readonly name: DatabaseName;
  /** Why it makes the process not ready. */
  readonly reasons: readonly string[];
}

export const databaseState: StateTable<DatabaseState> = {
  labels: { database: ({ name }) => name },
  shows: {
    part: 'databases', schema: databaseSchema,
    description: 'Databases that the process uses. Each is asked at most twice per second, with a time limit of 2 s.',
  },
  rows: [{
    name: 'exchange_database_answers', help: '1 when the database answered the latest probe',
    value: ({ answers }) => answers ? 1 : 0, cause: ({ lastError }) => lastError,
    notReady: {
      when: '0 (of the outbox only where no client is served), or the log has lost records', reasons: ({ reasons }) => reasons,
    },
    alerts: [{
      name: 'ExchangeDatabaseSilent', severity: 'critical', when: { is: 0 }, forS: 15,
      // When orders are refused for its sake, which is sooner.
      selfLogged: ({ name }) => name === 'log',
      means: 'The database "{database}" does not answer {job}.', todo: 'Orders are refused while the log is silent.',
    }],
  }],
};

const diskSchema = field.answer('DiskReadiness', {
  directory: Type.String({
    description: 'The first directory on the fullest of the disks that the process writes to, such as DATA_DIR or DATA_DIR/postgres.',
  }),
  freeBytes: field.integer('Free space on that disk.'),
  minFreeBytes: field.integer('Below this, orders are refused; 0 means never.'),
});

export type DiskState = Static<typeof diskSchema>;

/** The fullest first. */
export const diskState: StateTable<DiskState & { readonly shortage: string | undefined }> = {
  labels: { directory: ({ directory }) => directory },
  shows: { part: 'disk', single: true, schema: diskSchema },
  rows: [{
    name: 'exchange_disk_free_bytes',
    help: 'Free space on each disk that the process writes to, by the first of its directories',
    value: ({ freeBytes }) => freeBytes,
    notReady: {
      when: 'below MIN_FREE_DISK_MB, until 1.25 times that are free',
      reasons: ({ shortage }) => shortage === undefined ? [] : [`orders are refused: ${shortage}`],
    },
    alerts: [{
      name: 'ExchangeDiskFull', severity: 'warning', when: { below: 2e9 }, forS: 60,
      means: '{process} has {value:bytes} left on the disk of {directory}.',
      todo: 'Free some space. With MIN_FREE_DISK_MB orders are refused below that.',
    }],
  }],
};

export const connectionsState: StateTable<{ readonly open: number }> = {
  rows: [{ name: 'exchange_http_connections', help: 'Number of open client connections', value: ({ open }) => open }],
};

/** What a process counts as it happens. */
export const counted = {
  requests: {
    name: 'exchange_http_request_seconds', help: 'Time from a request\'s headers to its answer', labels: ['route', 'method', 'status'],
    alerts: [{
      name: 'ExchangeOrdersFail', severity: 'critical', forS: 120,
      when: {
        promql: 'sum(rate(exchange_http_request_seconds_count{job="api",status=~"5.."}[5m]))'
          + ' / sum(rate(exchange_http_request_seconds_count{job="api"}[5m])) > 0.05',
      },
      means: '{value:percent} of the requests to api processes fail.', todo: 'exchange_orders_total tells the codes by result.',
    }, {
      name: 'ExchangeOrdersSlow', severity: 'warning', forS: 300,
      when: {
        promql: 'histogram_quantile(0.99, sum by (le) (rate(exchange_http_request_seconds_bucket{route="placeOrder"}[5m]))) > 1',
      },
      means: 'One of a hundred orders takes longer than {value:duration}.',
      todo: 'The log, or the processors of the api processes.',
    }],
  },
  orders: { name: 'exchange_orders_total', help: 'Orders and cancels by result', labels: ['result'] },
  batches: { name: 'exchange_commit_batch_records', help: 'Records in one commit of the log', labels: [] },
  refused: {
    name: 'exchange_http_connections_refused_total', help: 'Connections closed at once, by the limit that was reached',
    labels: ['reason'],
    alerts: [{
      name: 'ExchangeConnectionsRefused', severity: 'warning', forS: 300,
      when: { promql: 'rate(exchange_http_connections_refused_total[5m]) > 0' },
      means: '{process} closes connections: limit "{reason}".',
      todo: 'More processes, or a higher limit: MAX_CONNECTIONS, MAX_CONNECTIONS_PER_ADDRESS.',
    }],
  },
} as const satisfies Readonly<Record<string, Metric & { readonly labels: readonly string[] }>>;

/** What Prometheus and Node.js tell of each process. */
export const given: readonly Metric[] = [
  {
    name: 'up', help: 'Prometheus: 1 when the process answers',
    alerts: [...ROLE_NAMES.map(roleGone), {
      name: 'ExchangeProcessDown', severity: 'warning', when: { promql: 'up == 0' }, forS: 60,
      means: '{job} at {instance} does not answer.', todo: 'Its last log line says why it ended.',
    }],
  },
  {
    name: 'process_start_time_seconds', help: 'Node.js: when the process started',
    alerts: [{
      name: 'ExchangeRestarts', severity: 'warning', when: { promql: 'changes(process_start_time_seconds[15m]) > 3' }, forS: 0,
      means: '{process} starts again and again.', todo: 'Its last log line before each start says why it ended.',
    }],
  },
  {
    name: 'nodejs_eventloop_lag_p99_seconds', help: 'Node.js: how late the process does what is due',
    alerts: [{
      name: 'ExchangeEventLoopLag', severity: 'warning', when: { promql: 'nodejs_eventloop_lag_p99_seconds > 0.5' }, forS: 300,
      means: '{process} is late by {value:duration}.',
      todo: 'The processor is full: run another process of the role, or give it a machine of its own.',
    }],
  },
  {
    name: 'process_open_fds', help: 'Node.js: open files and connections',
    alerts: [{
      name: 'ExchangeOpenFiles', severity: 'warning', when: { promql: 'process_open_fds / process_max_fds > 0.8' }, forS: 300,
      means: '{process} has used most of its open files.', todo: 'Raise the limit of open files, or lower MAX_CONNECTIONS.',
    }],
  },
];

function roleGone(role: RoleName): Alert<never> {
  return {
    name: `Exchange${role.charAt(0).toUpperCase()}${role.slice(1)}Gone`, severity: 'critical', forS: 30,
    when: { promql: `absent(up{job="${role}"} == 1)` }, labels: { job: role },
    means: `No ${role} process answers.`, todo: 'What waits meanwhile: docs/operations.md, "When a part is down".',
  };
}
