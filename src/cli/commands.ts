/**
 * All commands, and what is said of them where none was found. Each is loaded when it is asked for: `token`, which
 * coding agents run again and again, starts in a fifth of the time that all of them take to load, and a gateway does
 * not keep the code of the others as long as it runs.
 */
import { closestMatch } from '../lib/closest-match.ts'
import { print, printError } from './command.ts'
import type { Command } from './command.ts'

/** By name, in the order of the overview. */
export const commands: ReadonlyMap<string, () => Promise<Command>> = new Map([
  ['serve', async () => (await import('./serve.ts')).serve],
  ['init', async () => (await import('./init.ts')).init],
  ['check', async () => (await import('./check.ts')).check],
  ['keys create', async () => (await import('./keys.ts')).keysCreate],
  ['keys list', async () => (await import('./keys.ts')).keysList],
  ['keys revoke', async () => (await import('./keys.ts')).keysRevoke],
  ['keys reset-master', async () => (await import('./keys.ts')).keysResetMaster],
  ['import litellm', async () => (await import('./import-litellm.ts')).importLitellmCommand],
  ['db copy', async () => (await import('./db-copy.ts')).dbCopy],
  ['doctor', async () => (await import('./doctor.ts')).doctor],
  ['migrate', async () => (await import('./migrate.ts')).migrateCommand],
  ['backup', async () => (await import('./backup.ts')).backup],
  ['restore', async () => (await import('./backup.ts')).restore],
  ['credentials rotate', async () => (await import('./credentials.ts')).credentialsRotate],
  ['models list', async () => (await import('./models.ts')).modelsList],
  ['models test', async () => (await import('./models-test.ts')).modelsTest],
  ['usage', async () => (await import('./usage.ts')).usage],
  ['logs tail', async () => (await import('./logs-tail.ts')).logsTail],
  ['prices explain', async () => (await import('./prices-explain.ts')).pricesExplain],
  ['prices diff', async () => (await import('./prices-diff.ts')).pricesDiff],
  ['prices update', async () => (await import('./prices-update.ts')).pricesUpdate],
  ['ledger verify', async () => (await import('./ledger.ts')).ledgerVerify],
  ['ledger rebuild', async () => (await import('./ledger.ts')).ledgerRebuild],
  ['ledger export', async () => (await import('./ledger.ts')).ledgerExport],
  ['ledger summary', async () => (await import('./ledger-summary.ts')).ledgerSummary],
  ['ledger partition', async () => (await import('./ledger.ts')).ledgerPartition],
  ['ledger reconcile', async () => (await import('./ledger-reconcile.ts')).ledgerReconcile],
  ['login', async () => (await import('./agents/login.ts')).login],
  ['token', async () => (await import('./agents/token.ts')).token],
  ['logout', async () => (await import('./agents/login.ts')).logout],
  ['setup', async () => (await import('./agents/setup.ts')).setup],
  ['config print', async () => (await import('./config-print.ts')).configPrint],
  ['config schema', async () => (await import('./config-schema.ts')).configSchemaCommand],
  ['simulate', async () => (await import('./simulate.ts')).simulate],
  ['completion', async () => (await import('./completion.ts')).completionOf(allCommands)],
  ['version', async () => (await import('./version.ts')).version],
])

const allCommands = (): Promise<readonly Command[]> => Promise.all(commands.values().map(load => load()))

/** The command that the first words of a command line name, the longer name first; undefined = none. */
export async function commandOf(first: string, second: string | undefined): Promise<Command | undefined> {
  // A name of two words is two arguments.
  const ofOneWord = first.includes(' ') ? undefined : commands.get(first)
  return (commands.get(`${first} ${second}`) ?? ofOneWord)?.()
}

/** What `modelgate` and `modelgate --help` print. */
export async function overview(): Promise<string> {
  const all = await allCommands()
  const width = Math.max(...all.map(one => one.name.length))
  const lines = all.map(one => `  ${one.name.padEnd(width)}  ${one.summary}`)
  return (
    `Modelgate: one API in front of many language models.\n\n${lines.join('\n')}\n\nmodelgate <command> --help ` +
    'says more.'
  )
}

/** Says what may be meant by words that name no command; returns the exit code. */
export async function unknown(first: string, second: string | undefined): Promise<number> {
  const names = [...commands.keys()]
  const group = names.filter(name => name.startsWith(`${first} `))
  if (group.length > 0) return unknownOf(await Promise.all(group.map(name => commands.get(name)!())), first, second)
  const near = closestMatch(
    first,
    names.map(name => name.split(' ')[0]!),
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
