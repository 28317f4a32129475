/** Virtual environments of Python for tests of clients and vendors in that language. */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * The interpreter of an environment with exactly the packages of the file `requirements`; made once for each version of
 * the file, which takes minutes, under MODELGATE_CLIENTS_CACHE or the folder for temporary files. Undefined = this
 * machine has no Python. Throws when the environment cannot be made.
 */
export async function pythonEnvironment(requirements: string): Promise<string | undefined> {
  const python = Bun.which('python3')
  if (!python) return undefined
  const wanted = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 16)
  const folder = join(process.env.MODELGATE_CLIENTS_CACHE ?? tmpdir(), `modelgate-clients-${wanted}`)
  const interpreter = join(folder, 'bin', 'python3')
  const isComplete = join(folder, 'complete')
  if (existsSync(isComplete)) return interpreter
  console.log(`making the virtual environment ${folder}; this takes minutes`)
  await succeeded([python, '-m', 'venv', folder])
  await succeeded([join(folder, 'bin', 'pip'), 'install', '--quiet', '--requirement', requirements])
  writeFileSync(isComplete, '')
  return interpreter
}

async function succeeded(command: string[]): Promise<void> {
  const child = Bun.spawn(command, { stdin: 'ignore', stdout: 'inherit', stderr: 'inherit' })
  if ((await child.exited) !== 0) throw new Error(`${command.join(' ')} ended with ${child.exitCode}`)
}
