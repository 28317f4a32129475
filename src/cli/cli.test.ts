/** The commands as an operator meets them: help, wrong words, exit codes, what they print. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import packageJson from '../../package.json' with { type: 'json' }
import { main } from './index.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'modelgate-cli-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

interface Printed {
  readonly code: number
  readonly out: string
  readonly error: string
}

async function run(words: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<Printed> {
  const printed = { out: '', error: '' }
  const { stdout, stderr } = process
  const [writeOut, writeError] = [stdout.write, stderr.write]
  stdout.write = ((text: string) => ((printed.out += text), true)) as typeof stdout.write
  stderr.write = ((text: string) => ((printed.error += text), true)) as typeof stderr.write
  try {
    const code = await main(words, { MODELGATE_DATA_DIR: join(folder, 'data'), MODELGATE_DISCOVER: '0', ...environment })
    return { code, ...printed }
  } finally {
    stdout.write = writeOut
    stderr.write = writeError
  }
}

const commands = ['serve', 'check', 'keys create', 'keys list', 'keys revoke', 'models list', 'config schema', 'simulate', 'version']
const config = (text: string) => {
  const file = join(folder, 'config.yaml')
  writeFileSync(file, text)
  return file
}
const goodConfig = `model_list:
  - { model_name: mine, proxy_params: { model: custom_openai/x, api_base: "http://127.0.0.1:1/v1" } }
general_settings: { max_keys_per_user: 2 }
`

describe('help and wrong words', () => {
  test('the overview names every command; without a command it is a mistake', async () => {
    for (const words of [['--help'], ['-h'], ['help']]) {
      const { code, out } = await run(words)
      expect(code).toBe(0)
      for (const command of commands) expect(out).toContain(`  ${command} `)
    }
    expect((await run([])).code).toBe(2)
  })

  for (const command of commands)
    test(`${command} --help says what it takes, and does nothing`, async () => {
      const { code, out, error } = await run([...command.split(' '), '--help', '--nonsense'])
      expect([code, error]).toEqual([0, ''])
      expect(out).toContain(`Usage: modelgate ${command}`)
      expect(out).toContain('--help')
      expect(existsSync(join(folder, 'data'))).toBe(false)
    })

  for (const command of commands)
    test(`${command} refuses flags and words it does not know, and does nothing`, async () => {
      const flag = await run([...command.split(' '), '--confgi', 'x'])
      expect([flag.code, flag.out]).toEqual([2, ''])
      expect(flag.error).toContain("Unknown option '--confgi'")
      const word = await run([...command.split(' '), 'one', 'two'])
      expect([word.code, word.out]).toEqual([2, ''])
      expect(word.error).toMatch(/'(one|two)' is one word too many; modelgate .* --help/)
      expect(existsSync(join(folder, 'data'))).toBe(false)
    })

  test('a near word is suggested', async () => {
    expect((await run(['serve', '--prot', '1'])).error).toContain('did you mean --port?')
    expect((await run(['chekc'])).error).toContain("there is no command 'chekc', did you mean 'check'?")
    expect((await run(['xyzzy'])).error).toContain('modelgate --help')
    const group = await run(['keys'])
    expect([group.code, group.out.split('\n').length]).toEqual([2, 4])
    expect((await run(['keys', '--help'])).code).toBe(0)
  })

  const wrong: [string[], string][] = [
    [['serve', '--port', '70000'], '--port must be a port from 0 to 65535'],
    [['serve', '--port', 'http'], "got 'http'"],
    [['serve', '--port'], '--port'],
    [['keys', 'create', '--rpm', '0'], '--rpm must be a whole number from 1'],
    [['keys', 'create', '--tpm', '1.5'], '--tpm'],
    [['keys', 'create', '--parallel', 'x'], '--parallel'],
    [['keys', 'create', '--duration', '3 weeks'], '--duration must be like 45s'],
    [['keys', 'revoke'], 'name the key'],
    [['check'], 'name the file'],
    [['simulate', '--seed', 'abc'], '--seed must be a whole number'],
  ]
  for (const [words, message] of wrong)
    test(`'${words.join(' ')}' is a mistake in the call: ${message}`, async () => {
      const { code, out, error } = await run(words)
      expect([code, out]).toEqual([2, ''])
      expect(error).toContain(message)
      expect(error.trim().split('\n')).toHaveLength(1)
      // Nothing was made by a call that was wrong.
      expect(existsSync(join(folder, 'data', 'modelgate.sqlite'))).toBe(false)
    })

  const wrongEnvironment: [Record<string, string>, string][] = [
    [{ MODELGATE_LOG_LEVEL: 'loud' }, "MODELGATE_LOG_LEVEL must be one of debug, info, warn, error, off; got 'loud'"],
    [{ MODELGATE_DRAIN_MS: '5s' }, 'MODELGATE_DRAIN_MS must be a whole number of milliseconds'],
    [{ DATABASE_URL: 'mysql://u:secret-word@h/x' }, 'DATABASE_URL must begin with postgres://'],
  ]
  for (const [environment, message] of wrongEnvironment)
    test(`a wrong ${Object.keys(environment)[0]} is refused before anything is opened`, async () => {
      const { code, out, error } = await run(['serve', '--port', '0'], environment)
      expect([code, out]).toEqual([2, ''])
      expect(error).toContain(message)
      expect(error).not.toContain('secret-word')
      expect(existsSync(join(folder, 'data'))).toBe(false)
    })

  test('a wrong PORT of the environment is named as such', async () => {
    const { code, error } = await run(['serve'], { PORT: 'x' })
    expect(code).toBe(2)
    expect(error).toContain('PORT must be a port')
  })
})

describe('check', () => {
  test('a good file: its models are counted, unknown prices are a warning', async () => {
    const file = config(goodConfig)
    const { code, out, error } = await run(['check', file])
    expect(code).toBe(0)
    expect(out).toMatch(new RegExp(`^${file} is good: \\d+ models\n$`))
    expect(error).toContain('warning: ')
    expect(error).toContain('mine (')
  })

  test('each mistake is a line with file, line and column; nothing goes to stdout', async () => {
    const file = config('model_list:\n  - model_name: a\n    proxy_params: { model: 5 }\nrouter_settings: { num_retries: -1 }\nlitellm_setings: {}\n')
    const { code, out, error } = await run(['check', file])
    expect([code, out]).toEqual([1, ''])
    const lines = error.trim().split('\n')
    expect(lines.length).toBe(3)
    for (const line of lines) expect(line).toMatch(new RegExp(`^${file}:\\d+:\\d+ [a-z_.0-9]+: `))
    expect(lines.map(line => Number(/:(\d+):/.exec(line)![1]))).toEqual([3, 4, 5])
  })

  test('as JSON for machines, from the flag or the environment too', async () => {
    const file = config(goodConfig)
    const good = await run(['check', '--json'], { MODELGATE_CONFIG: file })
    expect(JSON.parse(good.out)).toMatchObject({ ok: true, mistakes: [], warnings: [expect.stringContaining('mine')] })
    config('model_list: 5\n')
    const bad = await run(['check', '--json', '--config', file])
    expect(bad.code).toBe(1)
    expect(JSON.parse(bad.out)).toMatchObject({ ok: false, mistakes: [expect.stringContaining('model_list')] })
  })

  test('a file that is not there', async () => {
    const { code, error } = await run(['check', join(folder, 'nowhere.yaml')])
    expect([code, error]).toEqual([1, `${join(folder, 'nowhere.yaml')}: no such file\n`])
  })

  test('a folder instead of a file', async () => {
    const { code, out, error } = await run(['check', folder])
    expect([code, out]).toEqual([1, ''])
    expect(error).toStartWith(`${folder}: cannot be read: `)
  })
})

describe('keys', () => {
  test('created, listed, revoked by id, alias or text', async () => {
    const key = (await run(['keys', 'create', '--alias', 'ci', '--user', 'u', '--model', 'a', '--model', 'b/*', '--duration', '30d', '--rpm', '5'])).out.trim()
    expect(key).toMatch(/^sk-[A-Za-z0-9_-]{43}$/)
    const second = JSON.parse((await run(['keys', 'create', '--json'])).out) as { key: string; token_id: string }
    const list = await run(['keys', 'list'])
    const lines = list.out.trim().split('\n')
    expect(lines[0]).toMatch(/^ID +KEY +ALIAS +USER +MODELS +EXPIRES +STATE$/)
    expect(lines.find(line => line.includes(' ci '))).toMatch(/ u +a,b\/\* +\d{4}-\d\d-\d\d \d\d:\d\d +active$/)
    expect(list.out).not.toContain(key)
    const rows = JSON.parse((await run(['keys', 'list', '--json'])).out) as Record<string, unknown>[]
    expect(rows.length).toBe(2)
    expect(rows.every(row => !('hash' in row))).toBe(true)
    expect(rows.find(row => row.alias === 'ci')).toMatchObject({ userId: 'u', models: ['a', 'b/*'], requestsPerMinute: 5, createdBy: 'cli' })
    for (const named of [key, second.token_id]) expect((await run(['keys', 'revoke', named])).out).toBe('revoked\n')
    const again = await run(['keys', 'revoke', key])
    expect([again.code, again.out]).toEqual([1, ''])
    expect(JSON.parse((await run(['keys', 'list', '--json'])).out)).toEqual([])
  })

  test('the limit of keys per user holds here as well', async () => {
    const words = ['keys', 'create', '--user', 'u', '--config', config(goodConfig)]
    expect([(await run(words)).code, (await run(words)).code]).toEqual([0, 0])
    const third = await run(words)
    expect([third.code, third.out]).toEqual([1, ''])
    expect(third.error).toContain('already has 2 key(s)')
    expect((await run(['keys', 'create', '--config', config(goodConfig)])).code).toBe(0)
  })

  test('a database that cannot be reached is an error with its reason, exit code 1', async () => {
    const { code, out, error } = await run(['keys', 'list'], { DATABASE_URL: 'postgres://nobody:secret-word@127.0.0.1:1/x' })
    expect([code, out]).toEqual([1, ''])
    expect(error).toStartWith('the database at 127.0.0.1:1 cannot be used: ')
    expect(error).toContain('check DATABASE_URL')
    expect(error).not.toContain('secret-word')
  })

  test('an alias that several keys share revokes none of them', async () => {
    const made = [await run(['keys', 'create', '--alias', 'ci', '--json']), await run(['keys', 'create', '--alias', 'ci'])]
    const refused = await run(['keys', 'revoke', 'ci'])
    expect([refused.code, refused.out]).toEqual([1, ''])
    expect(refused.error).toContain("2 keys have the alias 'ci'; name the one by its id")
    expect((await run(['keys', 'revoke', (JSON.parse(made[0]!.out) as { token_id: string }).token_id])).code).toBe(0)
    expect((await run(['keys', 'revoke', 'ci'])).code).toBe(0)
    expect(JSON.parse((await run(['keys', 'list', '--json'])).out)).toEqual([])
  })

  test('a data directory that cannot be one is named, with the flag that gives another', async () => {
    const file = config('')
    for (const words of [['serve', '--port', '0'], ['keys', 'list']])
      for (const directory of [file, join(file, 'below')]) {
        const { code, out, error } = await run([...words, '--data-dir', directory])
        expect([code, out]).toEqual([1, ''])
        expect(error).toStartWith(`the data directory ${directory} cannot be used: `)
        expect(error).toContain('--data-dir')
      }
  })

  test('nothing is left behind beside the database', async () => {
    await run(['keys', 'list'])
    expect(readdirSync(join(folder, 'data')).filter(name => !name.startsWith('modelgate.sqlite'))).toEqual([])
  })
})

describe('what there is', () => {
  test('models of a file, as a table and as JSON', async () => {
    const file = config(goodConfig)
    const table = await run(['models', 'list', '--config', file])
    expect(table.out).toMatch(/^NAME +UPSTREAM +MODE +PRICE +SOURCE\n/)
    expect(table.out).toMatch(/mine +custom_openai\/x +chat +unknown +.*config\.yaml:2/)
    const rows = JSON.parse((await run(['models', 'list', '--json', '--config', file])).out) as { name: string; id: string }[]
    expect(rows.find(row => row.name === 'mine')).toMatchObject({ provider: 'custom_openai', model: 'x', mode: 'chat', priced: false })
    const bad = await run(['models', 'list', '--config', config('model_list: 5\n')])
    expect([bad.code, bad.out]).toEqual([1, ''])
  })

  test('without a file, the environment decides', async () => {
    const rows = JSON.parse((await run(['models', 'list', '--json'], { MISTRAL_API_KEY: 'k' })).out) as { name: string; source: string }[]
    expect(rows.find(row => row.name === 'mistral/*')?.source).toBe('MISTRAL_API_KEY')
    expect(rows.some(row => row.source === 'local')).toBe(true)
  })

  test('the schema is JSON Schema of the file', async () => {
    const schema = JSON.parse((await run(['config', 'schema'])).out) as { type: string; properties: Record<string, unknown> }
    expect(schema.type).toBe('object')
    expect(Object.keys(schema.properties)).toContain('model_list')
  })

  test('the version is that of the package', async () => {
    for (const words of [['version'], ['--version']]) expect((await run(words)).out).toStartWith(`modelgate ${packageJson.version} (bun `)
  })
})
