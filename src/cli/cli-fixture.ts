/** Runs commands inside of the test's process. */
import { main } from './index.ts'

/** What a command printed. */
export interface Printed {
  readonly code: number
  readonly out: string
  readonly error: string
}

/** Runs `modelgate WORDS` with this environment, and nothing of the test's own. */
export const runCommand = (args: readonly string[], environment: Readonly<Record<string, string>>): Promise<Printed> =>
  printedBy(() => main(args, environment))

/** What a command prints that the test runs itself, and its exit code. */
export async function printedBy(work: () => Promise<number>): Promise<Printed> {
  const printed = { out: '', error: '' }
  const { stdout, stderr } = process
  const [writeOut, writeError] = [stdout.write, stderr.write]
  const keep = (name: 'out' | 'error') => (text: string) => {
    printed[name] += text
    return true
  }
  stdout.write = keep('out') as typeof stdout.write
  stderr.write = keep('error') as typeof stderr.write
  try {
    const code = await work()
    return { code, ...printed }
  } finally {
    stdout.write = writeOut
    stderr.write = writeError
  }
}
