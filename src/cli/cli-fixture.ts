/** Runs commands inside of the test's process. */
import { main } from './index.ts'

/** What a command printed. */
export interface Printed {
  readonly code: number
  readonly out: string
  readonly error: string
}

/** Runs `modelgate WORDS` with this environment, and nothing of the test's own. */
export async function runCommand(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<Printed> {
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
    return { code: await main(args, environment), ...printed }
  } finally {
    stdout.write = writeOut
    stderr.write = writeError
  }
}
