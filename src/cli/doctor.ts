/** `modelgate doctor`: looks at everything that a gateway needs, and says what to do about what it finds. */
import type { Command, CommandInput } from './command.ts'
import { print, table } from './command.ts'
import { checkConfiguration } from './doctor/check-configuration.ts'
import { checkDescriptors, checkDirectory, checkJournal, checkMemory, checkPort } from './doctor/check-machine.ts'
import { checkDatabase, checkRedis } from './doctor/check-stores.ts'
import { fine, problem, warning } from './doctor/finding.ts'
import type { Finding } from './doctor/finding.ts'
import { databaseUrl } from './file-settings.ts'
import {
  configFile,
  configFlag,
  dataDirectory,
  dataFlag,
  jsonFlag,
  nonEmpty,
  portNumber,
  redisUrl,
  text,
} from './options.ts'

/** Changes nothing. Exit code 1 where there is a problem, with `--strict` also for a warning. */
export const doctor: Command = {
  name: 'doctor',
  summary: 'Look at configuration, database, Redis, clock, files, memory, port, prices; a remedy for each finding',
  flags: {
    calls: { type: 'boolean', help: 'Also call each model of the configuration once, for a few tokens' },
    strict: { type: 'boolean', help: 'Warnings are problems: exit code 1' },
    port: { type: 'string', value: 'N', help: 'Port (PORT; default 4000)' },
    host: { type: 'string', value: 'H', help: 'Address to listen on (HOST; default 127.0.0.1)' },
    config: configFlag,
    'data-dir': dataFlag,
    json: jsonFlag,
  },
  async run(input) {
    const found = await findings(input)
    const ok = found.every(one => one.state === 'ok' || (one.state === 'warning' && !input.flags.strict))
    if (input.flags.json) print(JSON.stringify({ ok, findings: found }, null, 2))
    else show(found)
    return ok ? 0 : 1
  },
}

async function findings(input: CommandInput): Promise<Finding[]> {
  const { flags, environment } = input
  const port = portNumber(text(flags.port) ?? nonEmpty(environment.PORT) ?? '4000', '--port')
  const host = text(flags.host) ?? nonEmpty(environment.HOST) ?? '127.0.0.1'
  const redis = redisUrl(environment)
  const file = configFile(flags, environment)
  const configuration = checkConfiguration(file, environment)
  const directory = dataDirectory(flags, environment)
  const isRead = !configuration.some(one => one.state === 'problem')
  const { found: ofPort, isServing } = await checkPort(host, port)
  const isEncrypted = ['MODELGATE_ENCRYPTION_KEY', 'LITELLM_SALT_KEY'].some(name => nonEmpty(environment[name]))
  return [
    ...configuration,
    ...checkDirectory(directory),
    // The file may name the database.
    ...(isRead || nonEmpty(environment.DATABASE_URL)
      ? await checkDatabase(await databaseUrl(flags, environment, isRead ? undefined : {}), isEncrypted)
      : []),
    ...checkJournal(directory, isServing),
    ...(await checkRedis(redis)),
    ...checkDescriptors(),
    ...checkMemory(),
    ...ofPort,
    ...(flags.calls && isRead ? await checkCalls(input) : []),
  ]
}

async function checkCalls(input: CommandInput): Promise<Finding[]> {
  // It needs all of a gateway.
  const { testCalls } = await import('./test-calls.ts')
  const tested = await testCalls(input, undefined)
  if (tested.length === 0)
    return [warning('calls', 'there is no model to call', 'set the key of a vendor, or name a file with --config')]
  return tested.map(({ model, upstream, state, message, source }) => {
    const about = `call of ${model}`
    if (state === 'ok') return fine(about, `${upstream} answers`)
    if (state === 'skipped') return fine(about, `not called: ${message}`)
    if (state === 'warning')
      return warning(about, `${upstream}: ${message}`, `name a model that you use: modelgate models test MODEL`)
    return problem(about, `${upstream}: ${message}`, `mend its key, name or address (${source}), or look at the vendor`)
  })
}

function show(found: readonly Finding[]): void {
  print(
    table(
      ['', 'ABOUT', 'FOUND'],
      found.map(one => [one.state, one.about, one.message]),
    ),
  )
  const remedies = found.filter(one => one.remedy !== undefined)
  for (const { state, about, message, remedy } of remedies) print(`\n${state}: ${about}: ${message}\n  ${remedy}`)
}
