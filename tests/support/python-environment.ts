/** Virtual environments of Python for tests of clients and vendors in that language. */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

interface InstallSettings {
  readonly options?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
}

/**
 * The interpreter of an environment with exactly the packages of the file `requirements`; made once for each version of
 * the file, which takes minutes, under MODELGATE_CLIENTS_CACHE or the folder for temporary files. Undefined = this
 * machine has no Python. Throws when the environment cannot be made. `options` and `environment` are those of `pip install`.
 */
export async function pythonEnvironment(
  requirements: string,
  { options = [], environment = {} }: InstallSettings = {},
): Promise<string | undefined> {
  const python = Bun.which('python3')
  if (!python) return undefined
  const wanted = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 16)
  const folder = join(process.env.MODELGATE_CLIENTS_CACHE ?? tmpdir(), `modelgate-clients-${wanted}`)
  const interpreter = join(folder, 'bin', 'python3')
  const isComplete = join(folder, 'complete')
  if (existsSync(isComplete)) return interpreter
  console.log(`making the virtual environment ${folder}; this takes minutes`)
  await succeeded([python, '-m', 'venv', folder])
  const pip = join(folder, 'bin', 'pip')
  await succeeded([pip, 'install', '--quiet', ...options, '--requirement', requirements], environment)
  writeFileSync(isComplete, '')
  return interpreter
}

async function succeeded(command: string[], environment: Readonly<Record<string, string>> = {}): Promise<void> {
  const env = { ...process.env, ...environment }
  const child = Bun.spawn(command, { stdin: 'ignore', stdout: 'inherit', stderr: 'inherit', env })
  if ((await child.exited) !== 0) throw new Error(`${command.join(' ')} ended with ${child.exitCode}`)
}
