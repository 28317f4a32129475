/**
 * All commands, and what is said of them where none was found. Loaded for every command but `serve`: a gateway has no
 * use for the others, and would keep their code as long as it runs.
 */
import { closestMatch } from '../lib/closest-match.ts'
import { login, logout } from './agents/login.ts'
import { setup } from './agents/setup.ts'
import { token } from './agents/token.ts'
import { check } from './check.ts'
import { print, printError } from './command.ts'
import type { Command } from './command.ts'
import { credentialsRotate } from './credentials.ts'
import { configPrint } from './config-print.ts'
import { configSchemaCommand } from './config-schema.ts'
import { importLitellmCommand } from './import-litellm.ts'
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

/** In the order of the overview. */
export const commands: readonly Command[] = [
  serve,
  check,
  keysCreate,
  keysList,
  keysRevoke,
  keysResetMaster,
  importLitellmCommand,
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

/** What `modelgate` and `modelgate --help` print. */
export function overview(): string {
  const width = Math.max(...commands.map(one => one.name.length))
  const lines = commands.map(one => `  ${one.name.padEnd(width)}  ${one.summary}`)
  return (
    `Modelgate: one API in front of many language models.\n\n${lines.join('\n')}\n\nmodelgate <command> --help ` +
    'says more.'
  )
}

/** Says what may be meant by words that name no command; returns the exit code. */
export function unknown(first: string, second: string | undefined): number {
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
