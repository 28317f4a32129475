/** Usage that is sent to other systems. Its secrets are in the environment. */
import { z } from 'zod'
import { sinkTypes } from '../../core/ledger/sinks.ts'
import type { SinkSettings, SinkType } from '../../core/ledger/sinks.ts'
import type { UsageExportSettings } from '../../core/ledger/usage-export.ts'
import { settingKeys, withDefaults } from '../../core/setting-keys.ts'
import type { Values } from '../../core/setting-keys.ts'
import { text } from './value-types.ts'

const address = () => z.url({ protocol: /^https?$/ })

const stripeKeys = settingKeys('general', {
  event_name: {
    type: () => z.string().min(1).max(100),
    default: 'modelgate_usage',
    description: 'The name of the meter at Stripe to which events are sent.',
    example: 'tokens',
  },
  customer: {
    type: () => z.enum(['end_user', 'key_id', 'user_id', 'team_id', 'organization_id']),
    default: 'end_user',
    description: "The column of a row that holds Stripe's id of the customer; rows without it are not sent.",
    example: 'end_user',
  },
  value: {
    type: () => z.enum(['requests', 'total_tokens', 'input_tokens', 'output_tokens', 'cost_nano_usd']),
    default: 'total_tokens',
    description: 'The column of a row that is metered; rows with 0, or where it is not known, are not sent.',
    example: 'total_tokens',
  },
  api_base: {
    type: address,
    default: 'https://api.stripe.com',
    description: "The address to which meter events are sent, in place of Stripe's own.",
    example: 'https://api.stripe.com',
  },
})

/** What each type cannot do without. */
const neededKeys: Readonly<Record<SinkType, readonly (keyof typeof sinkKeys)[]>> = {
  s3: ['bucket'],
  gcs: ['bucket', 'username', 'password'],
  azure_blob: ['url'],
  clickhouse: ['url', 'table'],
  kafka_rest: ['url', 'topic'],
  langfuse: ['username', 'password'],
  datadog: ['password'],
  syslog: ['url'],
  file: ['path'],
  webhook: ['url'],
}

const idLists = () => z.array(z.string().min(1)).max(1000)

const sinkKeys = settingKeys('general', {
  type: {
    type: () => z.enum(sinkTypes),
    description:
      'What the sink is: `s3`, `gcs` and `azure_blob` get JSON lines by day, `clickhouse` rows of a table, ' +
      '`kafka_rest` records of a topic by the REST API of Confluent, Redpanda or Strimzi, `langfuse` generations, ' +
      '`datadog` logs, `syslog` lines (RFC 5424), `file` JSON lines, `webhook` lists of rows.',
    example: 's3',
    isRequired: true,
  },
  url: {
    type: () => z.url({ protocol: /^(https?|tcp)$/ }),
    description:
      'The address of the service: the endpoint of what speaks as S3 does, a container of Azure with its signature ' +
      '(SAS), the server of ClickHouse, Kafka REST, Langfuse or Datadog, `tcp://host:port` of syslog, a webhook.',
    example: 'https://clickhouse.internal:8443',
    secret: 'path',
  },
  bucket: { type: text, description: 'The bucket that objects are written to.', example: 'calls' },
  prefix: {
    type: text,
    description: 'The text that names of objects begin with, before `day=2026-11-29/`.',
    example: 'modelgate',
  },
  region: { type: text, description: 'The region of the bucket that is signed for.', example: 'eu-central-1' },
  username: {
    type: text,
    description: 'The user that the service knows: the id of an access key, or the public key of Langfuse.',
    example: 'os.environ/SINK_USER',
  },
  password: {
    type: text,
    description:
      'The secret of the user: a secret access key, a password, the secret key of Langfuse, the API key of Datadog, ' +
      'or the secret that signs webhooks.',
    example: 'os.environ/SINK_SECRET',
    secret: 'whole',
  },
  table: {
    type: () => z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?$/, 'is no name of a table'),
    description: 'The table of ClickHouse, with its database where it is not the default one.',
    example: 'modelgate.calls',
  },
  topic: { type: text, description: 'The topic that records are written to.', example: 'llm-calls' },
  path: { type: text, description: 'The file that lines are added to.', example: '/var/log/modelgate/calls.jsonl' },
  rotate_mb: {
    type: () => z.number().min(0.001).max(1_048_576),
    default: 100,
    description: 'How many MB a file has before it is renamed and another one begins.',
    example: 100,
  },
  kept_files: {
    type: () => z.number().int().min(0).max(1000),
    default: 10,
    description: 'How many renamed files are kept.',
    example: 10,
  },
  teams: { type: idLists, description: 'Teams whose calls alone are sent, by their ids.', example: ['team-a'] },
  except_teams: { type: idLists, description: 'Teams whose calls are not sent, by their ids.', example: ['team-b'] },
  keys: { type: idLists, description: 'Keys whose calls alone are sent, by id or alias.', example: ['alice'] },
  except_keys: { type: idLists, description: 'Keys whose calls are not sent, by id or alias.', example: ['probe'] },
  outcome: {
    type: () => z.enum(['success', 'failure']),
    description: 'Whether only calls that succeeded are sent, or only others. Left out: both are.',
    example: 'failure',
  },
})

/** Says what an entry lacks, by its type. */
const withNeeded = (entry: z.ZodObject): z.ZodType =>
  entry.superRefine((value, context) => {
    const given = value as Values<typeof sinkKeys>
    for (const name of neededKeys[given.type])
      if (given[name] === undefined)
        context.addIssue({ code: 'custom', path: [name], message: `a sink of type \`${given.type}\` needs it` })
  })

const exportKeys = settingKeys('general', {
  sinks: {
    entries: sinkKeys,
    also: withNeeded,
    map: entry =>
      z.record(z.string().regex(/^[a-z0-9][a-z0-9_-]{0,40}$/, 'a name has small letters, digits, _ and -'), entry),
    description:
      'Systems that get every finished call as its row of the ledger, by names of your own ' +
      '(docs/usage-and-spending.md).',
    example: { archive: { type: 's3', bucket: 'calls', region: 'eu-central-1' } },
  },
  webhook_url: {
    type: address,
    description:
      'The address that gets every row of the ledger by POST, in lists, signed with `USAGE_EXPORT_WEBHOOK_SECRET` as ' +
      'Standard Webhooks says.',
    example: 'https://billing.example.com/usage',
    secret: 'path',
  },
  stripe: {
    keys: stripeKeys,
    description: 'Sends Stripe a meter event for each row of the ledger, with the key `STRIPE_API_KEY`.',
    usedWith: { path: 'general_settings.usage_export.stripe' },
  },
  waiting_max: {
    type: () => z.number().int().min(1).max(100_000_000),
    default: 1_000_000,
    description:
      'How many rows wait for a destination that does not take them. Later rows are not sent there, which the log ' +
      'and a metric say.',
    example: 1_000_000,
  },
})

/** Keys of `general_settings`. */
export const usageExportKeys = settingKeys('general', {
  usage_export: {
    keys: exportKeys,
    description: 'Sends rows of the ledger to other systems, each exactly once by its `request_id`.',
    example: { webhook_url: 'https://billing.example.com/usage' },
    usedWith: { path: 'general_settings.usage_export' },
  },
})

/** null = nothing is exported. */
export function usageExportOf({ usage_export: written }: Values<typeof usageExportKeys>): UsageExportSettings | null {
  if (!written) return null
  const {
    webhook_url: webhookUrl,
    stripe: writtenStripe,
    sinks = {},
    waiting_max: waitingMax,
  } = withDefaults(exportKeys, written)
  const stripe = writtenStripe && withDefaults(stripeKeys, writtenStripe)
  return {
    webhookUrl: webhookUrl ?? null,
    stripe: stripe
      ? { eventName: stripe.event_name, customer: stripe.customer, value: stripe.value, baseUrl: stripe.api_base }
      : null,
    sinks: Object.entries(sinks).map(([name, entry]) => sinkOf(name, entry)),
    waitingMax,
  }
}

function sinkOf(name: string, entry: Values<typeof sinkKeys>): SinkSettings {
  const { type, teams = [], except_teams: exceptTeams = [], keys = [], except_keys: exceptKeys = [], ...rest } = entry
  const { outcome = null, ...params } = withDefaults(sinkKeys, { type, ...rest })
  return { name, type, params, filter: { teams, exceptTeams, keys, exceptKeys, outcome } }
}
