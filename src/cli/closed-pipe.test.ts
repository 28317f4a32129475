/** Every command with a reader that has gone: `modelgate ledger export | head -1`. */
import { afterEach, expect, test } from 'bun:test'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { exampleRow, ledgerRig, record } from '../store/ledger/ledger-fixture.ts'
import { closedPipeCode } from './closed-pipe.ts'
import { commands } from './commands.ts'

const rig = ledgerRig()
afterEach(() => rig.end())

const main = join(import.meta.dir, '../main.ts')

/** What each command is given so that it has something to print. */
const words: Readonly<Record<string, readonly string[]>> = {
  check: ['config.yaml'],
  backup: ['saved.tar.gz'],
  completion: ['bash'],
  init: ['made.yaml', '--yes'],
  'prices explain': ['openai/gpt-4.1'],
  'prices diff': ['prices.json'],
  'prices update': ['--from', 'prices.json', '--to', 'other.json'],
  'keys revoke': ['known'],
  setup: ['codex', '--url', 'http://127.0.0.1:1', '--print'],
}

/** Those that serve others, ask a gateway, or need what is not here; what they print goes the same way. */
const others = new Set([
  'serve',
  'simulate',
  'db copy',
  'logs tail',
  'models test',
  'restore',
  'login',
  'token',
  'logout',
  'setup',
  'import litellm',
  'ledger reconcile',
  'credentials rotate',
])

/** A place with 3000 rows, a key, a configuration and a price list. */
async function place() {
  const made = await rig.place()
  const { directory, databaseUrl } = made
  const ledger = await rig.open(made)
  for (let at = 0; at < 3000; at++) record(ledger, exampleRow({ started_at_ms: 1_790_000_000_000 + at }))
  await ledger.close()
  const folder = join(directory, 'work')
  mkdirSync(folder, { recursive: true })
  writeFileSync(
    join(folder, 'config.yaml'),
    'model_list:\n  - { model_name: a, proxy_params: { model: local/echo } }\n',
  )
  const price = { litellm_provider: 'openai', mode: 'chat', input_cost_per_token: 1, output_cost_per_token: 1 }
  writeFileSync(join(folder, 'prices.json'), JSON.stringify({ 'gpt-4.1': price }))
  const run = async (script: string) => {
    const child = Bun.spawn(['bash', '-c', script], {
      cwd: folder,
      env: { PATH: process.env.PATH!, HOME: folder, MODELGATE_DATA_DIR: directory, DATABASE_URL: databaseUrl },
      stdout: 'ignore',
      stderr: 'pipe',
      timeout: 50_000,
    })
    const error = await new Response(child.stderr).text()
    await child.exited
    return { error, code: Number(readFileSync(join(folder, 'code'), 'utf8')) }
  }
  // A command that begins when its pipe has no reader any more.
  const untilClosed = "(trap '' PIPE; while printf x 2>/dev/null; do :; done)"
  return {
    withReader: (command: string) => run(`${process.execPath} ${main} ${command} >/dev/null; echo $? >code`),
    alone: (command: string) =>
      run(`{ ${untilClosed}; ${process.execPath} ${main} ${command}; echo $? >code; } | true`),
    head: (command: string) => run(`{ ${process.execPath} ${main} ${command}; echo $? >code; } | head -n 1`),
  }
}

test('a command ends without a word when nobody reads what it prints', async () => {
  const { alone, withReader } = await place()
  expect((await withReader('keys create --alias known')).code).toBe(0)
  const ended: Record<string, unknown> = {}
  const expected: Record<string, unknown> = {}
  const printing = [...commands.keys()].filter(name => !others.has(name) && name !== 'keys reset-master')
  // `keys create` notes that it has read no configuration.
  for (const name of printing) {
    const given = name === 'keys create' ? ['--config', 'config.yaml'] : (words[name] ?? [])
    ended[name] = await alone([name, ...given].join(' '))
    expected[name] = { code: closedPipeCode, error: '' }
  }
  // SQLite has no partitions, which stands on standard error.
  expected['ledger partition'] = { code: 1, error: 'SQLite has no partitions: old rows are deleted in small steps\n' }
  expect(ended).toEqual(expected)
  for (const name of [...commands.keys(), '']) {
    const help = await alone(`${name} --help`)
    expect([name, help.code, help.error]).toEqual([name, closedPipeCode, ''])
  }
}, 120_000)

test('a reader that takes the first line only ends what prints without an end', async () => {
  const { head } = await place()
  for (const command of ['ledger export', 'ledger export --format jsonl', 'config schema'])
    expect([command, await head(command)]).toEqual([command, { code: closedPipeCode, error: '' }])
}, 120_000)
