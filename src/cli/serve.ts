import { availableParallelism } from 'node:os'
import { startServer } from '../app/index.ts'
import type { Announcement } from '../app/index.ts'
import { workerVariable } from '../app/workers/worker-messages.ts'
import type { WorkerPlace } from '../app/workers/worker-messages.ts'
import type { Config } from '../config/sections/file.ts'
import { redisAddressOf } from '../config/sections/redis.ts'
import { ConfigProcess } from '../config/reading/config-process.ts'
import { textOfFile } from '../config/reading/text-of-file.ts'
import type { ConfigReader } from '../config/reading/reading.ts'
import type { RunningServer, ServeOptions, TlsFiles } from '../config/serve-options.ts'
import { modelCountText } from '../config/model-counts.ts'
import { systemClock } from '../lib/clock.ts'
import { compileForServing } from '../lib/compile-policy.ts'
import { Secret } from '../lib/secret.ts'
import { goOnWithoutReader } from './closed-pipe.ts'
import type { Command, CommandInput } from './command.ts'
import { printError, UsageError, writeFully } from './command.ts'
import { explainFailure } from './failures.ts'
import { databaseUrl, readConfig } from './file-settings.ts'
import { configFile, configFlag, dataDirectory, dataFlag, nonEmpty, portNumber, redisUrl, text } from './options.ts'

/** One Ctrl-C may arrive several times: from the terminal, from npm, from the launcher. Later signals force an exit. */
const sameSignalMs = 1000

/**
 * Ends the process itself: with 0 after a stop by SIGTERM or SIGINT, with 1 if a part failed to stop or at a second
 * signal. Throws the reason if the server cannot start.
 */
export const serve: Command = {
  name: 'serve',
  summary: 'Serve the gateway',
  flags: {
    config: configFlag,
    port: { type: 'string', value: 'N', help: 'Port (PORT; default 4000)' },
    host: { type: 'string', value: 'H', help: 'Address to listen on (HOST; default 127.0.0.1)' },
    'root-path': {
      type: 'string',
      value: 'PATH',
      help: 'Prefix that a proxy passes on (SERVER_ROOT_PATH; default none)',
    },
    'data-dir': dataFlag,
    workers: {
      type: 'string',
      value: 'N',
      help: 'Processes that serve: a number, or auto for one a core (MODELGATE_WORKERS; default 1)',
    },
    'tls-cert': { type: 'string', value: 'FILE', help: 'Certificate chain in PEM: serve HTTPS (MODELGATE_TLS_CERT)' },
    'tls-key': { type: 'string', value: 'FILE', help: 'Its private key in PEM (MODELGATE_TLS_KEY)' },
    'tls-client-ca': {
      type: 'string',
      value: 'FILE',
      help: 'Clients must show a certificate of this authority (MODELGATE_TLS_CLIENT_CA)',
    },
  },
  async run(input) {
    const { environment } = input
    goOnWithoutReader()
    const place = workerPlace(environment)
    const count = workerCount(input)
    if (place === undefined && count > 1) return supervise(input, count)
    const server = place ? await startWorker(input, place) : await start(input)
    if (!place) keepServing(server)
    return untilStopped(environment, () => server.stop().then(() => 0))
  },
}

/** Ends the process with the code that `stop` brings, or with 1 where it fails or a second signal comes. */
function untilStopped(environment: CommandInput['environment'], stop: () => Promise<number>): Promise<never> {
  return new Promise<number>(resolve => {
    let stoppingSinceMs: number | undefined
    const signalled = () => {
      if (stoppingSinceMs === undefined) {
        stoppingSinceMs = systemClock.monotonicMs()
        stop().then(resolve, (thrown: unknown) => {
          printError(`not everything ended well: ${thrown instanceof Error ? thrown.message : String(thrown)}`)
          resolve(1)
        })
      } else if (systemClock.monotonicMs() - stoppingSinceMs > sameSignalMs) process.exit(1)
    }
    process.on('SIGTERM', signalled)
    process.on('SIGINT', signalled)
    stopWithShell(environment, signalled)
  }).then(code => process.exit(code))
}

/** Starts the workers, and ends when they have. */
async function supervise(input: CommandInput, count: number): Promise<never> {
  const { superviseWorkers } = await import('../app/workers/supervisor.ts')
  const reader = new ConfigProcess()
  const options = await serveOptions(input, reader.read)
  const supervisor = await superviseWorkers({
    count,
    command: [process.execPath, ...process.execArgv, ...process.argv.slice(1)],
    environment: input.environment,
    dataDirectory: options.dataDirectory,
    started: {
      databaseUrl: options.databaseUrl,
      redisUrl: options.redisUrl,
      masterKey: options.masterKey?.reveal(),
    },
    tell: printError,
  }).catch((thrown: unknown) => {
    throw explainFailure(thrown, options)
  })
  process.on('SIGHUP', () => supervisor.signal('SIGHUP'))
  process.on('exit', () => supervisor.signal('SIGKILL'))
  void supervisor.ended.then(code => process.exit(code))
  return untilStopped(input.environment, () => {
    supervisor.signal('SIGTERM')
    return supervisor.ended
  })
}

/** Which of several workers this process is; undefined = it serves alone, or starts them. */
function workerPlace({ [workerVariable]: place }: CommandInput['environment']): WorkerPlace | undefined {
  return place === undefined || process.send === undefined ? undefined : (JSON.parse(place) as WorkerPlace)
}

/** Beyond it a machine is better used by replicas: each worker has connections and threads of its own. */
const workersMax = 64

/** Throws UsageError. */
function workerCount({ flags, environment }: CommandInput): number {
  const given = text(flags.workers) ?? nonEmpty(environment.MODELGATE_WORKERS) ?? '1'
  if (given === 'auto') return Math.min(availableParallelism(), workersMax)
  const from = text(flags.workers) === undefined ? 'MODELGATE_WORKERS' : '--workers'
  if (!/^[1-9]\d?$/.test(given) || Number(given) > workersMax)
    throw new UsageError(`${from} must be auto or a number from 1 to ${workersMax}; got '${given}'`)
  return Number(given)
}

/** The code of a shell for a process that SIGKILL ended: what is under way is lost likewise. */
const orphanedCode = 137

/** Starts one of several workers, of which the first one says what is served. */
async function startWorker(input: CommandInput, place: WorkerPlace): Promise<RunningServer> {
  const { openWorkerLink } = await import('../app/workers/worker-link.ts')
  const link = openWorkerLink(place, () => process.exit(orphanedCode))
  try {
    const { databaseUrl, redisUrl, masterKey } = place.started
    const started = {
      databaseUrl,
      redisUrl: place.sharedUrl ?? redisUrl,
      masterKey: masterKey === undefined ? undefined : new Secret(masterKey),
    }
    const server = await start(input, { worker: link, ...started }, place.announces ? announce : () => {})
    keepServing(server)
    link.serves(portOf(server.url))
    return server
  } catch (thrown) {
    link.close()
    throw thrown
  }
}

/** An address does not show the port that its scheme has by itself. */
function portOf(address: string): number {
  const { port, protocol } = new URL(address)
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)
}

async function start(
  input: CommandInput,
  ofWorker: Partial<ServeOptions> = {},
  tell: typeof announce = announce,
): Promise<RunningServer> {
  const reader = new ConfigProcess()
  const options = { ...(await serveOptions(input, reader.read)), ...ofWorker }
  const hasPages = nonEmpty(input.environment.MODELGATE_WEB_DIRECTORY) !== undefined
  const starting = startServer({ ...options, readFile: reader.read }, what => tell(what, hasPages))
  const server = await starting.catch((thrown: unknown) => {
    throw explainFailure(thrown, options)
  })
  reader.forget()
  compileForServing()
  return server
}

const shellCheckMs = 500

/** SIGTERM ends npm's shell but is not passed on; without this check `npm start` would leave the gateway running. */
function stopWithShell({ MODELGATE_SHELL_PID: pid }: CommandInput['environment'], stop: () => void): void {
  if (pid === undefined || !/^[1-9]\d*$/.test(pid)) return
  const timer = setInterval(() => {
    try {
      process.kill(Number(pid), 0)
    } catch {
      clearInterval(timer)
      stop()
    }
  }, shellCheckMs)
  timer.unref()
}

const logLevels = ['debug', 'info', 'warn', 'error', 'off']

/** Checked at start, because a typing error would show only when the value is needed. */
function checkEnvironment(environment: CommandInput['environment']): void {
  const level = nonEmpty(environment.MODELGATE_LOG_LEVEL)
  if (level !== undefined && !logLevels.includes(level))
    throw new UsageError(`MODELGATE_LOG_LEVEL must be one of ${logLevels.join(', ')}; got '${level}'`)
  for (const name of ['MODELGATE_DRAIN_DELAY_MS', 'MODELGATE_DRAIN_MS', 'MODELGATE_DRAIN_IDLE_MS']) {
    const value = nonEmpty(environment[name])
    if (value !== undefined && !/^\d{1,9}$/.test(value))
      throw new UsageError(`${name} must be a whole number of milliseconds; got '${value}'`)
  }
}

/**
 * What `serve` would start with. `readFile` = what reads the configuration file; mistakes in it are left to the start
 * then. Throws UsageError, and ConfigError without it.
 */
export async function serveOptions({ flags, environment }: CommandInput, readFile?: ConfigReader) {
  checkEnvironment(environment)
  const directory = dataDirectory(flags, environment)
  const file = configFile(flags, environment)
  // The file may name the database, Redis and the master key; flags and environment have precedence.
  const root = rootPath(flags, environment)
  const config = readFile
    ? await configIn(file, { ...environment, SERVER_ROOT_PATH: root ?? '' }, readFile)
    : await readConfig(flags, environment)
  const general = config.general_settings ?? {}
  const masterKey = givenMasterKey(environment) ?? general.master_key
  const pepper = nonEmpty(environment.MODELGATE_KEY_PEPPER)
  return {
    configFile: file,
    host: text(flags.host) ?? nonEmpty(environment.HOST) ?? '127.0.0.1',
    port:
      text(flags.port) !== undefined
        ? portNumber(text(flags.port)!, '--port')
        : portNumber(nonEmpty(environment.PORT) ?? '4000', 'PORT'),
    rootPath: root,
    tls: tlsFiles({ flags, environment }),
    dataDirectory: directory,
    masterKey: masterKey === undefined ? undefined : new Secret(masterKey),
    keyPepper: pepper === undefined ? undefined : new Secret(pepper),
    databaseUrl: await databaseUrl(flags, environment, general),
    redisUrl: redisUrl(environment) ?? redisAddressOf(config.router_settings ?? {}),
    environment,
  }
}

/** As the start asks for it, so that the file is read once. Throws where it cannot be read. */
async function configIn(
  file: string | undefined,
  environment: CommandInput['environment'],
  readFile: ConfigReader,
): Promise<Config> {
  if (file === undefined) return {}
  const { config } = await readFile(textOfFile(file), { file, environment, secrets: new Map() })
  return config ?? {}
}

/** Throws UsageError where one of the two is missing. */
function tlsFiles({ flags, environment }: Pick<CommandInput, 'flags' | 'environment'>): TlsFiles | undefined {
  const certFile = text(flags['tls-cert']) ?? nonEmpty(environment.MODELGATE_TLS_CERT)
  const keyFile = text(flags['tls-key']) ?? nonEmpty(environment.MODELGATE_TLS_KEY)
  const clientCaFile = text(flags['tls-client-ca']) ?? nonEmpty(environment.MODELGATE_TLS_CLIENT_CA)
  if (certFile !== undefined && keyFile !== undefined) return { certFile, keyFile, clientCaFile }
  if (certFile === undefined && keyFile === undefined && clientCaFile === undefined) return undefined
  throw new UsageError('--tls-cert and --tls-key need each other (MODELGATE_TLS_CERT, MODELGATE_TLS_KEY); give both')
}

/** `/gateway`, with or without a slash at the end. */
function rootPath(flags: CommandInput['flags'], environment: CommandInput['environment']): string | undefined {
  const flag = text(flags['root-path'])
  const given = (flag ?? nonEmpty(environment.SERVER_ROOT_PATH))?.replace(/\/+$/, '')
  if (given === undefined || given === '') return undefined
  if (/^(\/[\w.~-]+)+$/.test(given)) return given
  const from = flag === undefined ? 'SERVER_ROOT_PATH' : '--root-path'
  throw new UsageError(`${from} must be a path of letters, digits and . _ ~ - such as /gateway; got '${given}'`)
}

/** An empty one is a variable that was not filled: a key would be made, or an old one stay valid, unnoticed. */
function givenMasterKey({ MODELGATE_MASTER_KEY: given }: CommandInput['environment']): string | undefined {
  if (given?.trim() === '')
    throw new UsageError(
      'MODELGATE_MASTER_KEY is empty; give it a key (echo "sk-$(openssl rand -base64 32)" makes one), or unset it ' +
        'and the gateway keeps the one that it has or makes one',
    )
  return given
}

/** Written to stderr: stdout is the log. */
function announce(
  { url: address, models: counts, warnings, leftOut, firstMasterKey }: Announcement,
  hasPages: boolean,
): void {
  const url = address.replace(/\/$/, '')
  const { models, more } = modelCountText(counts)
  for (const problem of leftOut) printError(`error: ${problem}; this entry is left out`)
  for (const warning of warnings) printError(`warning: ${warning}`)
  if (firstMasterKey !== undefined) showMasterKey(masterKeyText(url, firstMasterKey, hasPages))
  printError(`Modelgate serves ${models} on ${url} (${hasPages ? `pages: ${url}/ui/, ` : ''}API: ${url}/docs)${more}`)
}

function showMasterKey(text: string): void {
  try {
    writeFully(text)
  } catch (error) {
    throw new Error(
      'the master key of the first start cannot be shown, so none was made: ' +
        `${(error as Error).message}; set MODELGATE_MASTER_KEY, or start once at a terminal`,
      { cause: error },
    )
  }
}

function masterKeyText(url: string, masterKey: string, hasPages: boolean): string {
  const signIn = hasPages
    ? `Sign in to the pages at ${url}/ui/ as the user admin, with this key as the password.\n\n`
    : ''
  const body = '{"model": "local/simulated-chat", "messages": [{"role": "user", "content": "Hello"}]}'
  // One line, to be pasted as it is.
  const headers = `-H "Authorization: Bearer ${masterKey}" -H "Content-Type: application/json"`
  return `
This is the first start. The master key is shown now and never again (lost: modelgate keys reset-master):

  ${masterKey}

${signIn}Try it:

  curl ${url}/v1/chat/completions ${headers} -d '${body}'

`
}

/** Uncaught errors are logged and the process continues; SIGHUP reloads the configuration. */
function keepServing(server: RunningServer): void {
  process.on('unhandledRejection', reason => server.report('unhandled rejection', reason))
  process.on('uncaughtException', error => server.report('uncaught exception', error))
  process.on('SIGHUP', () => void server.reload())
}
