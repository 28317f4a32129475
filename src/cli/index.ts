/** `modelgate <command>`: finds the command, checks its flags, runs it. */
import { helpOf, parseFlags, print, printError, UsageError } from './command.ts'
import { commandOf, overview, unknown } from './commands.ts'
import { endWithLauncher } from './launcher.ts'

/** Returns the exit code: 0 success, 1 failure, 2 usage error. */
export async function main(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Promise<number> {
  const [first, second] = args
  if (first === undefined || first === '--help' || first === '-h' || first === 'help') {
    print(await overview())
    return first === undefined ? 2 : 0
  }
  const command = await commandOf(first === '--version' ? 'version' : first, second)
  if (!command) return unknown(first, second)
  const rest = args.slice(command.name.split(' ').length)
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
