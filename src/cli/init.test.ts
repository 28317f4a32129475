/** A first configuration, and the completion of commands, which follow from what the program knows. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runCommand } from './cli-fixture.ts'
import { commands } from './commands.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'modelgate-init-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('init writes a configuration that check accepts, without a secret, and names three commands', async () => {
  const file = join(folder, 'config.yaml')
  const server = ['--server', 'http://gpu:8000/v1', '--server-model', 'mine']
  const words = ['init', file, '--yes', '--vendor', 'openai', '--vendor', 'anthropic', ...server, '--port', '4100']
  const made = await runCommand(words, { ANTHROPIC_API_KEY: 'sk-ant-secret' })
  expect([made.code, made.error]).toEqual([0, ''])
  const steps = made.out.split('\n').filter(line => line.startsWith('  '))
  expect(steps).toHaveLength(3)
  expect(steps[0]).toBe(`  export OPENAI_API_KEY=...; modelgate check ${file}`)
  expect(steps[1]).toContain('--port 4100')
  const content = readFileSync(file, 'utf8')
  expect(content).not.toContain('sk-ant-secret')
  const environment = { OPENAI_API_KEY: 'sk-1', ANTHROPIC_API_KEY: 'sk-2' }
  expect((await runCommand(['check', file], environment)).code).toBe(0)
  const listed = await runCommand(['models', 'list', '--json', '--config', file], environment)
  const names = (JSON.parse(listed.out) as { name: string }[]).map(one => one.name)
  expect(names).toEqual(expect.arrayContaining(['openai/*', 'anthropic/*', 'mine']))
  const again = await runCommand(words, {})
  expect([again.code, again.error]).toEqual([1, `${file} is there already; name another file, or give --force\n`])
  expect((await runCommand([...words, '--force'], {})).code).toBe(0)
})

test('init offers what the environment has keys for; nothing is a configuration, too', async () => {
  const file = join(folder, 'of-keys.yaml')
  await runCommand(['init', file, '--yes'], { GROQ_API_KEY: 'k' })
  expect(readFileSync(file, 'utf8')).toContain('model: "groq/*", api_key: os.environ/GROQ_API_KEY')
  const empty = join(folder, 'empty.yaml')
  expect((await runCommand(['init', empty, '--yes'], {})).code).toBe(0)
  expect((await runCommand(['check', empty], {})).code).toBe(0)
})

test('what init cannot use is named, and nothing is written', async () => {
  const file = join(folder, 'none.yaml')
  for (const [flags, message] of [
    [['--vendor', 'opneai'], "no vendor is called 'opneai', did you mean 'openai'?"],
    [['--server', 'gpu:8000'], '--server must be an address'],
    [['--server', 'http://gpu'], '--server and --server-model need each other'],
    [['--database', 'mysql://x'], '--database must begin with postgres://'],
  ] as const) {
    const { code, error } = await runCommand(['init', file, '--yes', ...flags], {})
    expect([code, error]).toEqual([2, expect.stringContaining(message)])
  }
  expect(existsSync(file)).toBe(false)
})

test('completions of every shell have every command and its flags', async () => {
  const all = await Promise.all(commands.values().map(load => load()))
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { code, out } = await runCommand(['completion', shell], {})
    expect(code).toBe(0)
    for (const { name, flags } of all) {
      for (const word of name.split(' ')) expect([shell, name, out.includes(word)]).toEqual([shell, name, true])
      for (const flag of Object.keys(flags)) expect([flag, out.includes(flag)]).toEqual([flag, true])
    }
  }
  expect((await runCommand(['completion', 'tcsh'], {})).code).toBe(2)
})

test('bash completes commands, second words, flags of a command and files', async () => {
  const script = join(folder, 'complete.bash')
  writeFileSync(script, (await runCommand(['completion', 'bash'], {})).out)
  writeFileSync(join(folder, 'config.yaml'), '')
  const completed = (...words: string[]) => {
    const text = `cd ${folder}; source ${script}; COMP_WORDS=(modelgate ${words.map(one => `'${one}'`).join(' ')})
      COMP_CWORD=${words.length}; _modelgate; printf '%s\\n' "\${COMPREPLY[@]}"`
    return Bun.spawnSync(['bash', '-c', text]).stdout.toString().trim().split('\n')
  }
  expect(completed('che')).toEqual(['check'])
  expect(completed('keys', 're')).toEqual(['revoke', 'reset-master'])
  expect(completed('keys', 'create', '--bud')).toEqual(['--budget'])
  expect(completed('serve', '--por')).toEqual(['--port'])
  expect(completed('check', 'conf')).toEqual(['config.yaml'])
})
