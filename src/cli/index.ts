/** `modelgate <command>`: finds the command, checks its flags, runs it. */
import { closestMatch } from '../lib/closest-match.ts'
import { login, logout } from './agents/login.ts'
import { setup } from './agents/setup.ts'
import { token } from './agents/token.ts'
import { check } from './check.ts'
import { endWithLauncher } from './launcher.ts'
import { helpOf, parseFlags, print, printError, UsageError } from './command.ts'
import type { Command } from './command.ts'
import { credentialsRotate } from './credentials.ts'
import { configPrint } from './config-print.ts'
import { configSchemaCommand } from './config-schema.ts'
import { keysCreate, keysList, keysResetMaster, keysRevoke } from './keys.ts'
import { ledgerExport, ledgerPartition, ledgerRebuild, ledgerVerify } from './ledger.ts'
import { ledgerReconcile } from './ledger-reconcile.ts'
import { migrateCommand } from './migrate.ts'
import { modelsList } from './models.ts'
import { pricesDiff } from './prices-diff.ts'
import { pricesExplain } from './prices-explain.ts'
import { pricesUpdate } from './prices-update.ts'
import { serve } from './serve.ts'
import { simulate } from './simulate.ts'
import { version } from './version.ts'

const commands: readonly Command[] = [
  serve,
  check,
  keysCreate,
  keysList,
  keysRevoke,
  keysResetMaster,
  migrateCommand,
  credentialsRotate,
  modelsList,
  pricesExplain,
  pricesDiff,
  pricesUpdate,
  ledgerVerify,
  ledgerRebuild,
  ledgerExport,
  ledgerPartition,
  ledgerReconcile,
  login,
  token,
  logout,
  setup,
  configPrint,
  configSchemaCommand,
  simulate,
  version,
]

/** Returns the exit code: 0 success, 1 failure, 2 usage error. */
export async function main(
  words: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Promise<number> {
  const [first, second] = words
  if (first === undefined || first === '--help' || first === '-h' || first === 'help') {
    print(overview())
    return first === undefined ? 2 : 0
  }
  if (first === '--version') return version.run({ flags: {}, positionals: [], environment })
  const command = commands.find(one => one.name === `${first} ${second}`) ?? commands.find(one => one.name === first)
  if (!command) return unknown(first, second)
  const rest = words.slice(command.name.split(' ').length)
  if (rest.includes('--help') || rest.includes('-h')) {
    print(helpOf(command))
    return 0
  }
  endWithLauncher(environment)
  try {
    return await command.run({ ...parseFlags(command, rest), environment })
  } catch (error) {
    printError(error instanceof Error ? error.message : String(error))
    return error instanceof UsageError ? 2 : 1
  }
}

function overview(): string {
  const width = Math.max(...commands.map(one => one.name.length))
  const lines = commands.map(one => `  ${one.name.padEnd(width)}  ${one.summary}`)
  return (
    `Modelgate: one API in front of many language models.\n\n${lines.join('\n')}\n\nmodelgate <command> --help ` +
    'says more.'
  )
}

function unknown(first: string, second: string | undefined): number {
  const group = commands.filter(one => one.name.startsWith(`${first} `))
  if (group.length > 0) return unknownOf(group, first, second)
  const near = closestMatch(
    first,
    commands.map(one => one.name.split(' ')[0]!),
  )
  printError(`there is no command '${first}'${near ? `, did you mean '${near}'?` : ';'} modelgate --help lists them`)
  return 2
}

/** For a first word that several commands share, such as `keys`. */
function unknownOf(group: readonly Command[], first: string, second: string | undefined): number {
  const list = group.map(one => `  modelgate ${one.name.padEnd(17)} ${one.summary}`).join('\n')
  if (second === undefined || second === '--help' || second === '-h') {
    print(list)
    return second === undefined ? 2 : 0
  }
  const near = closestMatch(
    second,
    group.map(one => one.name.slice(first.length + 1)),
  )
  printError(
    `there is no command '${first} ${second}'${near ? `, did you mean '${first} ${near}'?` : ';'} these are ` +
      `there:\n${list}`,
  )
  return 2
}
