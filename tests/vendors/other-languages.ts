/** The referees that vendors publish for Python and Go; each reads captures and writes verdicts, a JSON a line. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pythonEnvironment } from '../support/python-environment.ts'
import type { Capture } from './capture.ts'
import type { Verdict } from './referees.ts'

/** Verdicts by the place of their capture in the list. */
export type Verdicts = ReadonlyMap<number, Verdict>

interface Line extends Verdict {
  readonly id: number
}

/** The verdicts of Python's packages; undefined = there is no Python here. Throws when the job fails. */
export async function pythonVerdicts(captures: readonly Capture[]): Promise<Verdicts | undefined> {
  const folder = join(import.meta.dir, 'python')
  const interpreter = await pythonEnvironment(join(folder, 'requirements.txt'))
  if (interpreter === undefined) return undefined
  return judged([interpreter, '-W', 'ignore', join(folder, 'judge.py')], captures)
}

/** The verdicts of Ollama's own types; undefined = there is no Go here. Throws when the job fails. */
export async function goVerdicts(captures: readonly Capture[]): Promise<Verdicts | undefined> {
  const go = Bun.which('go')
  if (!go) return undefined
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-vendors-go-'))
  try {
    const program = join(folder, 'judge')
    await textOf([go, 'build', '-C', join(import.meta.dir, 'go'), '-o', program, '.'])
    return await judged([program], captures)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function judged(command: string[], captures: readonly Capture[]): Promise<Verdicts> {
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-captures-'))
  try {
    const file = join(folder, 'captures.jsonl')
    writeFileSync(file, captures.map((one, id) => `${JSON.stringify({ id, ...one })}\n`).join(''))
    const lines = (await textOf(command, file)).split('\n').filter(line => line !== '')
    return new Map(lines.map(line => JSON.parse(line) as Line).map(({ id, ...verdict }) => [id, verdict]))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** What the command writes; `input` = a file. */
async function textOf(command: string[], input?: string): Promise<string> {
  const stdin = input === undefined ? 'ignore' : Bun.file(input)
  const child = Bun.spawn(command, { stdin, stdout: 'pipe', stderr: 'inherit' })
  const text = await new Response(child.stdout).text()
  if ((await child.exited) !== 0) throw new Error(`${command.join(' ')} ended with ${child.exitCode}`)
  return text
}
