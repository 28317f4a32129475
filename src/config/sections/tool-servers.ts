/** Tool servers (MCP), in the names of LiteLLM, and what makes settings of them. */
import { z } from 'zod'
import { settingKeys, withDefaults } from '../../core/setting-keys.ts'
import type { Values } from '../../core/setting-keys.ts'
import type { ToolServerSettings } from '../../core/tool-servers.ts'
import type { ToolTransport } from '../../core/tools.ts'
import { Secret } from '../../lib/secret.ts'
import { count, countUpTo, headerText, headers, httpAddress, seconds, text } from './value-types.ts'

/** Ways in which the gateway shows who it is to a tool server. */
const authTypes = ['none', 'api_key', 'bearer_token', 'basic', 'authorization', 'token'] as const

/** The first `-` of an offered name ends that of the server. */
export const toolServerName = () =>
  z
    .string()
    .regex(
      /^[A-Za-z0-9_]{1,32}$/,
      'must have 1 to 32 letters, digits and _; a hyphen separates it from the names of its tools',
    )

const headerName = () => z.string().regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/, 'must be the name of a header')
const toolName = () => z.string().min(1).max(256)
const toolNames = () => z.array(toolName()).max(2000)
const dollars = () => z.number().min(0).max(1_000_000)

const costKeys = settingKeys('general', {
  default_cost_per_query: {
    type: dollars,
    description: 'Dollars that a call of a tool of the server costs which has no price of its own.',
    example: 0.01,
  },
  tool_name_to_cost_per_query: {
    type: () => z.record(toolName(), dollars()),
    description: "Dollars that a call of a tool costs, by the server's names of its tools.",
    example: { search: 0.05 },
  },
})

const infoKeys = settingKeys('general', {
  server_name: {
    type: () => text().max(255),
    description: 'A name by which people know the server.',
    example: 'GitHub',
  },
  description: {
    type: () => z.string().max(2000),
    description: 'What the server is for; `description` of the server wins.',
    example: 'issues and pull requests',
  },
  logo_url: {
    type: httpAddress,
    description: 'Where the logo of the server is.',
    example: 'https://example.com/a.png',
  },
  mcp_server_cost_info: { keys: costKeys, description: 'What calls of tools of the server cost.' },
})

/** The keys of one tool server, of the file and of the API. */
export const toolServerKeys = settingKeys('general', {
  url: {
    type: httpAddress,
    description: 'The address of the server; one of stdio has none.',
    example: 'https://mcp.example.com/mcp',
    secret: 'path',
  },
  transport: {
    type: () => z.enum(['http', 'sse', 'stdio']),
    description:
      'How the gateway speaks with the server: `http` (streamable HTTP of all versions), `sse` (HTTP with SSE, of ' +
      '2024), `stdio` (a program of this machine, in this file alone and with `allow_stdio: true`). Left out, it is ' +
      '`stdio` where there is a `command`, else `http`.',
    example: 'http',
  },
  command: {
    type: text,
    description: 'The program of a server of stdio; it is started without a shell.',
    example: 'npx',
  },
  args: {
    type: () => z.array(z.string()).max(200),
    description: 'The arguments that `command` gets, one each.',
    example: ['-y', '@modelcontextprotocol/server-memory'],
  },
  env: {
    type: () => z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of a variable'), z.string()),
    description: 'The environment of `command`; beside it the program sees PATH, HOME, USER, LANG and TMPDIR alone.',
    example: { GITHUB_TOKEN: 'os.environ/GITHUB_TOKEN' },
    secret: 'members',
  },
  memory_limit_mb: {
    type: count,
    default: 1024,
    description: 'Megabytes that the program of a server of stdio may hold with its children; above, it is ended.',
    example: 512,
  },
  auth_type: {
    type: () => z.enum(authTypes),
    default: 'none',
    description:
      'How `authentication_token` is sent: `bearer_token` and `basic` (base64 of `user:password`, made where it has ' +
      'a colon) and `token` with that word before it, `authorization` as it is, all in the header ' +
      '`Authorization`; `api_key` in `X-API-Key`.',
    example: 'bearer_token',
  },
  authentication_token: {
    type: headerText,
    description: 'The token, key, or user and password that the server knows the gateway by.',
    example: 'os.environ/GITHUB_TOKEN',
    secret: 'whole',
  },
  auth_value: {
    type: headerText,
    description: "It is the same as `authentication_token`, by LiteLLM's older name.",
    example: 'os.environ/GITHUB_TOKEN',
    secret: 'whole',
  },
  static_headers: {
    type: () => headers(headerName()),
    description: 'Headers that each request to the server has.',
    example: { 'x-tenant': 'research' },
    secret: 'members',
  },
  extra_headers: {
    type: () => z.array(headerName()).max(50),
    description:
      "Names of headers of the client's request that the server gets as they are. `Authorization` of the client is " +
      'never among them: it is a key of this gateway.',
    example: ['x-user-token'],
  },
  allowed_tools: {
    type: toolNames,
    description: "The server's names of the tools that are offered; without it, all are.",
    example: ['search_issues'],
  },
  disallowed_tools: {
    type: toolNames,
    description: "The server's names of tools that are not offered.",
    example: ['delete_repository'],
  },
  tool_name_to_display_name: {
    type: () => z.record(toolName(), text().max(255)),
    description: "Titles that people see in the place of the server's, by its names of tools.",
    example: { search_issues: 'Search issues' },
  },
  tool_name_to_description: {
    type: () => z.record(toolName(), text().max(10_000)),
    description: "Descriptions that stand in the place of the server's, by its names of tools.",
    example: { search_issues: 'Finds issues by their words.' },
  },
  description: {
    type: () => z.string().max(2000),
    description: 'What the server is for.',
    example: 'issues and pull requests',
  },
  alias: {
    type: toolServerName,
    description: 'What stands before the names of its tools in the place of its own name.',
    example: 'gh',
  },
  access_groups: {
    type: () => z.array(text().max(255)).max(100),
    description: 'Groups by which keys, teams, users and organizations are let use it.',
    example: ['developers'],
  },
  allow_all_keys: {
    type: () => z.boolean(),
    default: false,
    description: 'Whether every key may use the server, also one to which no server was granted.',
    example: true,
  },
  timeout_seconds: {
    type: seconds,
    default: 60,
    description: 'How many seconds a call of a tool may take; each message of progress begins them anew.',
    example: 120,
  },
  list_ttl_seconds: {
    type: () => countUpTo(86_400),
    default: 300,
    description: 'How many seconds the list of its tools holds, where the server does not say.',
    example: 60,
  },
  mcp_info: { keys: infoKeys, description: 'What people are shown of the server, and what its tools cost.' },
})

/** The keys of the file. */
export const toolServersKeys = settingKeys('general', {
  allow_stdio: {
    type: () => z.boolean(),
    default: false,
    description:
      'Whether `mcp_servers` of this file may name programs that the gateway starts. Servers made by API never may.',
    example: true,
  },
  mcp_servers: {
    entries: toolServerKeys,
    map: entry => z.record(toolServerName(), entry),
    description: 'Servers of tools (MCP) that models and clients may use through the gateway (docs/tools.md).',
    example: { github: { url: 'https://mcp.example.com/mcp', access_groups: ['developers'] } },
  },
})

type Entry = Values<typeof toolServerKeys>

/** Where a server was configured. */
export interface ToolServerOrigin {
  readonly id: string
  readonly name: string
  readonly origin: 'config' | 'db'
  readonly mayBePrivate: boolean
}

/** The servers of the file, whose operator knows where they are. */
export function fileToolServers({ mcp_servers: servers = {} }: Values<typeof toolServersKeys>): ToolServerSettings[] {
  return Object.entries(servers).map(([name, entry]) =>
    toolServerOf(entry, { id: name, name, origin: 'config', mayBePrivate: true }),
  )
}

const nanoUsdOf = (usd: number): bigint => BigInt(Math.round(usd * 1e9))

/** The settings of a checked entry. */
export function toolServerOf(given: Entry, { id, name, origin, mayBePrivate }: ToolServerOrigin): ToolServerSettings {
  const entry = withDefaults(toolServerKeys, given)
  const { mcp_info: info = {} } = entry
  const costs = info.mcp_server_cost_info ?? {}
  const { command, args = [] } = entry
  return {
    id,
    name,
    origin,
    prefix: entry.alias ?? name,
    description: entry.description ?? info.description ?? '',
    transport: transportOf(entry),
    accessGroups: entry.access_groups ?? [],
    url: entry.url,
    command: command === undefined ? undefined : [command, ...args],
    environment: secretsOf(entry.env ?? {}),
    memoryMbMax: entry.memory_limit_mb,
    headers: headersOf(entry),
    forwardedHeaders: (entry.extra_headers ?? []).map(one => one.toLowerCase()),
    allowedTools: entry.allowed_tools === undefined ? undefined : new Set(entry.allowed_tools),
    disallowedTools: new Set(entry.disallowed_tools),
    titles: entry.tool_name_to_display_name ?? {},
    descriptions: entry.tool_name_to_description ?? {},
    defaultCostNanoUsd: nanoUsdOf(costs.default_cost_per_query ?? 0),
    toolCosts: Object.fromEntries(
      Object.entries(costs.tool_name_to_cost_per_query ?? {}).map(([tool, usd]) => [tool, nanoUsdOf(usd)]),
    ),
    allowsAllKeys: entry.allow_all_keys,
    timeoutMs: entry.timeout_seconds * 1000,
    listTtlMs: entry.list_ttl_seconds * 1000,
    mayBePrivate,
  }
}

const transportOf = ({ transport, command }: Entry): ToolTransport =>
  transport ?? (command === undefined ? 'http' : 'stdio')

const secretsOf = (values: Readonly<Record<string, string>>): Record<string, Secret> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, new Secret(value)]))

function headersOf(entry: Entry): Record<string, Secret> {
  const own = Object.entries(entry.static_headers ?? {}).map(([name, value]) => [name.toLowerCase(), value])
  const token = entry.authentication_token ?? entry.auth_value
  const { auth_type: kind } = entry
  if (token === undefined || kind === undefined || kind === 'none') return secretsOf(Object.fromEntries(own))
  const [name, value] = kind === 'api_key' ? ['x-api-key', token] : ['authorization', authorizationOf(kind, token)]
  return secretsOf({ ...Object.fromEntries(own), [name]: value })
}

function authorizationOf(kind: Exclude<(typeof authTypes)[number], 'none' | 'api_key'>, token: string): string {
  if (kind === 'authorization') return token
  if (kind === 'basic') return `Basic ${token.includes(':') ? Buffer.from(token).toString('base64') : token}`
  const word = kind === 'token' ? 'token' : 'Bearer'
  return token.toLowerCase().startsWith(`${word.toLowerCase()} `) ? token : `${word} ${token}`
}

/** What is wrong with an entry as a whole, with the key it is about; undefined = nothing. */
export function toolServerProblem(entry: Entry): { readonly key: string; readonly message: string } | undefined {
  const transport = transportOf(entry)
  if (transport === 'stdio') {
    if (entry.command === undefined) return { key: 'command', message: 'is missing: a server of stdio is a program' }
    if (entry.url !== undefined) return { key: 'url', message: 'is not for a server of stdio; take it out' }
    if (entry.authentication_token !== undefined || entry.static_headers !== undefined)
      return { key: 'auth_type', message: 'headers are not for a server of stdio; use `env`' }
    return undefined
  }
  if (entry.command !== undefined)
    return { key: 'command', message: `is for the transport stdio alone, and this is ${transport}` }
  if (entry.url === undefined) return { key: 'url', message: 'is missing' }
  const needsToken = entry.auth_type !== undefined && entry.auth_type !== 'none'
  const token = entry.authentication_token ?? entry.auth_value
  if (needsToken && token === undefined)
    return { key: 'authentication_token', message: `is missing, which \`auth_type: ${entry.auth_type}\` sends` }
  if (!needsToken && token !== undefined)
    return { key: 'auth_type', message: 'is missing; without it `authentication_token` is not sent' }
  const taken = (entry.extra_headers ?? []).find(name => ownHeaders.has(name.toLowerCase()))
  if (taken !== undefined)
    return { key: 'extra_headers', message: `\`${taken}\` of a client is for this gateway and is never passed on` }
  return undefined
}

/** Headers by which clients show who they are to this gateway, and those of the protocol. */
const ownHeaders = new Set([
  'authorization',
  'x-api-key',
  'api-key',
  'x-goog-api-key',
  'x-litellm-api-key',
  'ocp-apim-subscription-key',
  'cookie',
  'mcp-session-id',
  'mcp-protocol-version',
  'mcp-method',
  'mcp-name',
  'content-type',
  'accept',
])
