/** What each coding agent needs in its own configuration to call models through a gateway. */
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Environment } from '../../config/environment.ts'
import { nonEmpty } from '../options.ts'
import type { JsonSetting } from './json-edit.ts'
import type { TomlBlocks } from './toml-blocks.ts'

/** The settings that a coding agent is to get. */
export interface ClientConnection {
  readonly url: string
  /** The words of the command that prints a token. */
  readonly tokenCommand: readonly string[]
  /** undefined = the agent's own default. */
  readonly model: string | undefined
  /** The gateway's key, of a person who is signed in at the vendor and stays so; absent = the token command is used. */
  readonly keyBesideSubscription?: string | undefined
}

/** One agent: its file, and what goes into it. */
export interface AgentClient {
  readonly name: string
  file(environment: Environment): string
  change(wanted: ClientConnection): { readonly settings: readonly JsonSetting[] } | { readonly blocks: TomlBlocks }
  /** A file of its own, which has to be there as well; absent = none. */
  ownFile?(
    environment: Environment,
    wanted: Pick<ClientConnection, 'tokenCommand'>,
  ): { readonly path: string; readonly text: string }
  /** It has no model of its own: one has to be named. */
  readonly needsModel?: true
  /** It can send a subscription's credentials beside the gateway's key. */
  readonly takesSubscription?: true
  /** What the person does next. */
  next(wanted: ClientConnection): string
}

/** A program whose settings stand in no file that another may write: a person enters them. */
export interface EnteredClient {
  readonly name: string
  /** What a person does, line by line. */
  steps(wanted: Pick<ClientConnection, 'url' | 'model'>): readonly string[]
}

/** A token is asked for as often: it is printed from a file unless it is near its end. */
const askMs = 300_000
const home = (environment: Environment): string => nonEmpty(environment.HOME) ?? homedir()

const claudeCode: AgentClient = {
  name: 'claude-code',
  file: environment =>
    join(nonEmpty(environment.CLAUDE_CONFIG_DIR) ?? join(home(environment), '.claude'), 'settings.json'),
  // code.claude.com/docs/en/llm-gateway-connect (2026-11-23).
  change: ({ url, tokenCommand, model, keyBesideSubscription: key }) => ({
    settings: [
      { place: ['env', 'ANTHROPIC_BASE_URL'], value: url },
      ...(key === undefined
        ? [
            { place: ['apiKeyHelper'], value: tokenCommand.join(' ') },
            { place: ['env', 'CLAUDE_CODE_API_KEY_HELPER_TTL_MS'], value: String(askMs) },
            { place: ['env', 'CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY'], value: '1' },
          ]
        : [{ place: ['env', 'ANTHROPIC_CUSTOM_HEADERS'], value: `x-proxy-api-key: Bearer ${key}` }]),
      ...(model === undefined
        ? []
        : [
            { place: ['env', 'ANTHROPIC_MODEL'], value: model },
            { place: ['env', 'ANTHROPIC_DEFAULT_HAIKU_MODEL'], value: model },
          ]),
    ],
  }),
  takesSubscription: true,
  next: ({ keyBesideSubscription }) =>
    keyBesideSubscription === undefined ? 'start claude' : 'start claude, and sign in to your subscription by /login',
}

const codex: AgentClient = {
  name: 'codex',
  file: environment => join(nonEmpty(environment.CODEX_HOME) ?? join(home(environment), '.codex'), 'config.toml'),
  // github.com/openai/codex/pull/16267: the command writes the token to standard output (2026-11-23).
  change: ({ url, tokenCommand: [command = '', ...words], model }) => ({
    blocks: {
      top: { model_provider: 'modelgate', ...(model !== undefined && { model }) },
      tables: `[model_providers.modelgate]
name = "Modelgate"
base_url = ${JSON.stringify(`${url}/v1`)}
wire_api = "responses"

[model_providers.modelgate.auth]
command = ${JSON.stringify(command)}
args = ${JSON.stringify(words)}
refresh_interval_ms = ${askMs}
timeout_ms = 30000`,
    },
  }),
  next: () => 'start codex',
}

const opencodeDirectory = (environment: Environment): string =>
  join(nonEmpty(environment.XDG_CONFIG_HOME) ?? join(home(environment), '.config'), 'opencode')

/** opencode 1.18 has no key command, but plugins, which may bring the `fetch` of a provider. */
const opencode: AgentClient = {
  name: 'opencode',
  file: environment => join(opencodeDirectory(environment), 'opencode.json'),
  change: ({ url, model = '' }) => ({
    settings: [
      {
        place: ['provider', 'modelgate'],
        value: {
          npm: '@ai-sdk/openai-compatible',
          name: 'Modelgate',
          options: { baseURL: `${url}/v1` },
          models: { [model]: {} },
        },
      },
      { place: ['model'], value: `modelgate/${model}` },
    ],
  }),
  ownFile: (environment, { tokenCommand: [command, ...words] }) => ({
    path: join(opencodeDirectory(environment), 'plugin', 'modelgate.js'),
    text: `// Written by \`modelgate setup opencode\`: calls of the provider "modelgate" carry the token of this person.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const askMs = 60000
let known
const token = async () => {
  if (!known || performance.now() - known.atMs > askMs) {
    const { stdout } = await promisify(execFile)(${JSON.stringify(command)}, ${JSON.stringify(words)})
    known = { text: stdout.trim(), atMs: performance.now() }
  }
  return known.text
}

export const Modelgate = async () => ({
  config: async config => {
    const options = config.provider?.modelgate?.options
    if (!options) return
    options.fetch = async (input, init = {}) => {
      const headers = new Headers(init.headers)
      headers.set('authorization', 'Bearer ' + (await token()))
      return globalThis.fetch(input, { ...init, headers })
    }
  },
})
`,
  }),
  needsModel: true,
  next: () => 'start opencode',
}

/**
 * It has no key command: the token goes into the variable of the key when it is started, and holds for as long as
 * `agent_token_minutes` says. The way of signing in is a setting, without which it refuses (version 0.61).
 */
const geminiCli: AgentClient = {
  name: 'gemini-cli',
  // geminicli.com/docs/reference/configuration (2026-11-25).
  file: environment => join(nonEmpty(environment.GEMINI_CLI_HOME) ?? home(environment), '.gemini', 'settings.json'),
  change: ({ model }) => ({
    settings: [
      { place: ['security', 'auth', 'selectedType'], value: 'gemini-api-key' },
      ...(model === undefined ? [] : [{ place: ['model', 'name'], value: model }]),
    ],
  }),
  next: ({ url, tokenCommand }) =>
    `start it by: GOOGLE_GEMINI_BASE_URL=${url} GEMINI_API_KEY="$(${tokenCommand.join(' ')})" gemini`,
}

/** Its calls come from its vendor's servers, not from the person's machine (docs.cursor.com, 2026-11-25). */
const cursor: EnteredClient = {
  name: 'cursor',
  steps: ({ url, model }) => [
    'Cursor keeps these in its own settings, and calls from its servers: the gateway has to be reachable from there,',
    'and a token of an hour does not do. Make a key for it (POST /key/generate, or the page of keys), then:',
    '1. Cursor Settings, Models, API Keys: switch on OpenAI API Key, and paste the key',
    `2. switch on Override OpenAI Base URL: ${url}/v1`,
    `3. add a custom model: ${model ?? 'a name of GET /v1/models'}`,
  ],
}

/** The agents whose file `modelgate setup` writes. */
export const agentClients: readonly AgentClient[] = [claudeCode, codex, opencode, geminiCli]
/** The others that it knows. */
export const enteredClients: readonly EnteredClient[] = [cursor]
