/** `modelgate init`: writes a first configuration from a few answers, or from flags alone. */
import { existsSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline/promises'
import { databaseUrlProblem } from '../config/checks/value-checks.ts'
import { readSettings } from '../config/read-settings.ts'
import { closestMatch } from '../lib/closest-match.ts'
import { providers } from '../providers/index.ts'
import type { Command, CommandInput } from './command.ts'
import { print, printError, UsageError } from './command.ts'
import { nonEmpty, portNumber, text } from './options.ts'

/** What is asked. */
interface Answers {
  readonly vendors: readonly string[]
  /** Address of a server with OpenAI's API, such as vLLM; '' = none. */
  readonly server: string
  readonly serverModel: string
  readonly port: number
  /** '' = SQLite in the data directory. */
  readonly databaseUrl: string
}

/** Without a terminal, or with `--yes`, nothing is asked. */
export const init: Command = {
  name: 'init',
  summary: 'Write a first configuration from a few answers, and say which commands come next',
  arguments: 'FILE',
  flags: {
    vendor: {
      type: 'string',
      value: 'NAME',
      help: 'A vendor whose models are offered; again for more',
      multiple: true,
    },
    server: {
      type: 'string',
      value: 'URL',
      help: "A server of your own with OpenAI's API, such as http://gpu:8000/v1",
    },
    'server-model': { type: 'string', value: 'NAME', help: 'The model that it serves' },
    database: { type: 'string', value: 'URL', help: 'postgres://... (default: SQLite in the data directory)' },
    port: { type: 'string', value: 'N', help: 'Port that the commands at the end name (default 4000)' },
    yes: { type: 'boolean', help: 'Ask nothing; vendors whose keys are in the environment are offered' },
    force: { type: 'boolean', help: 'Write over a file that is there' },
  },
  async run(input) {
    const { flags, positionals } = input
    const file = positionals[0] ?? 'config.yaml'
    if (existsSync(file) && !flags.force)
      throw new Error(`${file} is there already; name another file, or give --force`)
    const asked = flags.yes || !process.stdin.isTTY ? answersOf(input) : await ask(input)
    const content = configurationOf(asked)
    const { mistakes } = readSettings({ text: content, file, environment: {}, anyVariables: true, providers })
    if (mistakes.length > 0) throw new Error(`what was answered makes no configuration:\n${mistakes.join('\n')}`)
    writeFileSync(file, content, { mode: 0o600 })
    print(nextSteps(file, asked, input.environment))
    return 0
  },
}

/** Those with a key in the environment, unless some are named. */
function answersOf({ flags, environment }: CommandInput): Answers {
  const given = (flags.vendor as string[] | undefined) ?? []
  const server = text(flags.server) ?? ''
  const vendors = given.length > 0 || server !== '' ? given : withKeys(environment)
  return checked({
    vendors,
    server,
    serverModel: text(flags['server-model']) ?? '',
    port: portNumber(text(flags.port) ?? '4000', '--port'),
    databaseUrl: text(flags.database) ?? '',
  })
}

/** Throws UsageError. */
function checked(answers: Answers): Answers {
  const { vendors, server, serverModel, databaseUrl } = answers
  for (const name of vendors) {
    if (offered().includes(name)) continue
    const near = closestMatch(name, offered())
    throw new UsageError(
      `no vendor is called '${name}'${near ? `, did you mean '${near}'?` : `; there are ${offered().join(', ')}`}`,
    )
  }
  if (server !== '' && !(URL.canParse(server) && /^https?:$/.test(new URL(server).protocol)))
    throw new UsageError(`--server must be an address such as http://gpu:8000/v1; got '${server}'`)
  if ((server === '') !== (serverModel === '')) throw new UsageError('--server and --server-model need each other')
  const problem = databaseUrl === '' ? undefined : databaseUrlProblem(databaseUrl)
  if (problem !== undefined) throw new UsageError(`--database ${problem}`)
  return answers
}

/** Vendors that need a key and nothing else. */
const offered = (): string[] =>
  [...providers.values()]
    .filter(one => one.apiKeyEnv.length > 0 && one.defaultBaseUrl !== undefined)
    .map(one => one.name)
    .sort()

const withKeys = (environment: CommandInput['environment']): string[] =>
  offered().filter(name => keyVariableOf(name).some(variable => nonEmpty(environment[variable]) !== undefined))

const keyVariableOf = (name: string): readonly string[] => providers.get(name)!.apiKeyEnv

async function ask(input: CommandInput): Promise<Answers> {
  const before = answersOf(input)
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const question = async (words: string, given: string): Promise<string> =>
    (await terminal.question(`${words}${given === '' ? '' : ` [${given}]`}: `)).trim() || given
  try {
    for (;;) {
      const vendors = await question('Vendors, with commas (openai, anthropic, gemini ...)', before.vendors.join(', '))
      const server = await question("Address of a server of your own with OpenAI's API, if any", before.server)
      const serverModel = server === '' ? '' : await question('The model that it serves', before.serverModel)
      const databaseUrl = await question('Postgres address (empty = SQLite in the data directory)', before.databaseUrl)
      try {
        const names = vendors.split(',').map(one => one.trim())
        return checked({ ...before, vendors: names.filter(one => one !== ''), server, serverModel, databaseUrl })
      } catch (error) {
        printError((error as Error).message)
      }
    }
  } finally {
    terminal.close()
  }
}

function configurationOf({ vendors, server, serverModel, databaseUrl }: Answers): string {
  const entries = vendors.map(
    name =>
      `  - model_name: "${name}/*" # every model of the vendor, as ${name}/NAME\n` +
      `    proxy_params: { model: "${name}/*", api_key: os.environ/${keyVariableOf(name)[0]} }\n`,
  )
  if (server !== '') {
    const model = JSON.stringify(`custom_openai/${serverModel}`)
    entries.push(
      `  - model_name: ${JSON.stringify(serverModel)}\n` +
        `    proxy_params: { model: ${model}, api_base: ${JSON.stringify(server)} }\n`,
    )
  }
  const database = databaseUrl === '' ? '' : `  database_url: ${JSON.stringify(databaseUrl)}\n`
  const empty = '  # No vendor yet: the built-in model local/simulated-chat answers, and says that it is simulated.\n'
  return (
    '# Every key: docs/configuration.md. A change is read while the gateway runs; `modelgate check` finds mistakes.\n' +
    (entries.length === 0 ? `model_list: []\n${empty}` : `model_list:\n${entries.join('')}`) +
    'router_settings:\n  num_retries: 2\n' +
    (database === '' ? '' : `general_settings:\n${database}`)
  )
}

/** Three commands. */
function nextSteps(file: string, { vendors, port }: Answers, environment: CommandInput['environment']): string {
  const missing = vendors.flatMap(name => {
    const [variable] = keyVariableOf(name)
    return keyVariableOf(name).some(one => nonEmpty(environment[one])) || variable === undefined ? [] : [variable]
  })
  const keys = missing.length === 0 ? '' : `export ${missing.map(name => `${name}=...`).join(' ')}`
  const steps = [
    keys === '' ? `modelgate check ${file}` : `${keys}; modelgate check ${file}`,
    `modelgate serve --config ${file} --port ${port}   # shows the master key once, and where the pages are`,
    `modelgate models test --config ${file}   # calls each model once, for a few tokens`,
  ]
  return `${file} is written. Next:\n\n${steps.map(one => `  ${one}`).join('\n')}\n`
}
