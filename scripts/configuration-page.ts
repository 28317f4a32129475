/**
 * `npm run configuration-page`: writes docs/configuration.md, every key of the configuration file with its meaning,
 * what it takes and an example, from the JSON Schema of the file. A test compares both.
 */
import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { z } from 'zod'
import { configSchema } from '../src/config/sections/file.ts'

/** The part of JSON Schema that the file's schema uses. */
export interface KeySchema {
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly default?: unknown
  readonly examples?: readonly unknown[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly KeySchema[]
  readonly items?: KeySchema
  readonly properties?: Readonly<Record<string, KeySchema>>
  readonly additionalProperties?: KeySchema | boolean
  readonly minimum?: number
  readonly exclusiveMinimum?: number
  readonly maximum?: number
}

/** As `modelgate config schema` prints it. */
export const fileSchema = z.toJSONSchema(configSchema(), { io: 'input', unrepresentable: 'any' }) as KeySchema

const sections: readonly (readonly [title: string, path: readonly string[]])[] = [
  ['The file', []],
  ['An entry of `model_list`', ['model_list']],
  ['`proxy_params` of an entry', ['model_list', 'proxy_params']],
  ['`model_info` of an entry', ['model_list', 'model_info']],
  ['A credential of `credential_list`', ['credential_list']],
  ['A guardrail of `guardrails`', ['guardrails']],
  ['`proxy_params` of a guardrail', ['guardrails', 'proxy_params']],
  ['An entry of `patterns` of a guardrail', ['guardrails', 'proxy_params', 'patterns']],
  ['An entry of `topics` of a guardrail', ['guardrails', 'proxy_params', 'topics']],
  ['A tool server of `mcp_servers`', ['mcp_servers']],
  ['`mcp_info` of a tool server', ['mcp_servers', 'mcp_info']],
  ['`mcp_server_cost_info` of `mcp_info`', ['mcp_servers', 'mcp_info', 'mcp_server_cost_info']],
  ['`prices`', ['prices']],
  ['`router_settings`', ['router_settings']],
  ['`routing_strategy_args` of `router_settings`', ['router_settings', 'routing_strategy_args']],
  ['`retry_policy` of `router_settings`', ['router_settings', 'retry_policy']],
  ['`allowed_fails_policy` of `router_settings`', ['router_settings', 'allowed_fails_policy']],
  ['`settings`', ['settings']],
  ['`cost_terms` of `settings`', ['settings', 'cost_terms']],
  ['`cache_params` of `settings`', ['settings', 'cache_params']],
  ['`default_internal_user_params` of `settings`', ['settings', 'default_internal_user_params']],
  ['`default_team_params` of `settings`', ['settings', 'default_team_params']],
  ['`default_end_user_params` of `settings`', ['settings', 'default_end_user_params']],
  ['`default_key_generate_params` of `settings`', ['settings', 'default_key_generate_params']],
  ['`upperbound_key_generate_params` of `settings`', ['settings', 'upperbound_key_generate_params']],
  ['`alert_to_webhook_url` of `general_settings`', ['general_settings', 'alert_to_webhook_url']],
  ['`usage_export` of `general_settings`', ['general_settings', 'usage_export']],
  ['`stripe` of `usage_export`', ['general_settings', 'usage_export', 'stripe']],
  ['An entry of `sinks` of `usage_export`', ['general_settings', 'usage_export', 'sinks']],
  ['`open_telemetry` of `general_settings`', ['general_settings', 'open_telemetry']],
  ['A provider of `sso` of `general_settings`', ['general_settings', 'sso']],
  ['An entry of `service_accounts` of `jwt_auth`', ['general_settings', 'jwt_auth', 'service_accounts']],
  ['`jwt_auth` of `general_settings`', ['general_settings', 'jwt_auth']],
  ['`general_settings`', ['general_settings']],
]

const head = `# Configuration

Written by \`npm run configuration-page\` from the declarations in \`src/config/sections\`; do not edit it by hand.

\`modelgate check config.yaml\` reports every mistake with line and column, \`modelgate config schema\` prints a
JSON Schema for editors. A value may be \`os.environ/NAME\`, or hold \`\${NAME}\` or \`\${NAME:-default}\`.
LiteLLM's names are read as well: \`litellm_params\` is \`proxy_params\`, \`litellm_settings\` is
\`settings\`. LiteLLM's keys without a function here are warnings that say what to do instead, and
mistakes where they restrict.
A key without a default is off, or without a limit, where its meaning does not say otherwise.
Prices may stand in \`proxy_params\` or in \`model_info\`; the former win.
`

/** The whole page. */
export function configurationPage(schema: KeySchema): string {
  return [head, ...sections.map(([title, path]) => `## ${title}\n\n${keyTable(at(schema, path))}`)].join('\n')
}

function at(schema: KeySchema, path: readonly string[]): KeySchema {
  return path.reduce((one, key) => {
    const inside = one.properties![key]!
    return entryOf(inside)
  }, schema)
}

/** What one entry of a list, or of a map of sections, looks like; else the schema itself. */
export function entryOf(schema: KeySchema): KeySchema {
  const { items, additionalProperties: values } = schema
  return items ?? (typeof values === 'object' && values.properties ? values : schema)
}

function keyTable({ properties = {} }: KeySchema): string {
  const rows = Object.entries(properties).map(([key, one]) => {
    const example = one.examples?.[0]
    const shown = example === undefined ? '' : `\`${key}: ${yamlOf(example)}\``
    const byDefault = one.default === undefined ? '' : `\`${yamlOf(one.default)}\``
    return `| \`${key}\` | ${cell(one.description ?? '')} | ${cell(taken(one))} | ${byDefault} | ${shown} |`
  })
  return ['| key | meaning | takes | default | example |', '|---|---|---|---|---|', ...rows, ''].join('\n')
}

const cell = (text: string): string => text.replaceAll('|', '\\|')

/** In the flow style of YAML. */
function yamlOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(yamlOf).join(', ')}]`
  if (typeof value === 'object' && value !== null)
    return `{ ${Object.entries(value)
      .map(([key, one]) => `${key}: ${yamlOf(one)}`)
      .join(', ')} }`
  if (typeof value === 'number' && value > 0 && value < 0.0001) return value.toFixed(9).replace(/0+$/, '')
  return typeof value === 'string' && /^[\d.-]+$/.test(value) ? `"${value}"` : String(value)
}

function taken(schema: KeySchema): string {
  if (schema.enum) return schema.enum.map(one => `\`${one}\``).join(', ')
  if (schema.const !== undefined) return `\`${schema.const}\``
  if (schema.anyOf) return schema.anyOf.map(taken).join(' or ')
  const types = [schema.type ?? 'string'].flat()
  return types.map(type => typeText(String(type), schema)).join(' or ')
}

function typeText(type: string, { minimum, exclusiveMinimum, maximum, items }: KeySchema): string {
  const least = minimum ?? exclusiveMinimum
  const range =
    least === undefined || maximum === undefined
      ? ''
      : ` ${exclusiveMinimum === undefined ? `from ${least}` : `above ${least}`} to ${maximum}`
  const words: Readonly<Record<string, string>> = {
    integer: `a whole number${range}`,
    number: `a number${range}`,
    string: 'a text',
    boolean: 'true or false',
    array: items?.properties ? 'a list of entries' : 'a list',
    object: 'a map',
    null: 'null',
  }
  return words[type] ?? type
}

if (import.meta.main) writeFileSync(resolve(import.meta.dir, '../docs/configuration.md'), configurationPage(fileSchema))
