/** The commands as a user runs them: help, usage errors, exit codes, output. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SQL } from 'bun'
import packageJson from '../../package.json' with { type: 'json' }
import { migrate } from '../store/database/migrate.ts'
import { openDatabase } from '../store/database/open.ts'
import type { KeyRecord } from '../core/tenancy/keys.ts'
import { runCommand } from './cli-fixture.ts'
import { commands } from './commands.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'modelgate-cli-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const run = (words: readonly string[], environment: Readonly<Record<string, string>> = {}) =>
  runCommand(words, { MODELGATE_DATA_DIR: join(folder, 'data'), MODELGATE_DISCOVER: '0', ...environment })

const config = (text: string) => {
  const file = join(folder, 'config.yaml')
  writeFileSync(file, text)
  return file
}
const goodConfig = `model_list:
  - { model_name: mine, proxy_params: { model: custom_openai/x, api_base: "http://127.0.0.1:1/v1" } }
general_settings: { max_keys_per_user: 2 }
`

describe('help and usage errors', () => {
  test('the overview lists every command; a missing command is a usage error', async () => {
    for (const words of [['--help'], ['-h'], ['help']]) {
      const { code, out } = await run(words)
      expect(code).toBe(0)
      for (const command of commands.keys()) expect(out).toContain(`  ${command} `)
    }
    expect((await run([])).code).toBe(2)
  })

  test('each command has the name that it is found by', async () => {
    for (const [name, load] of commands) expect((await load()).name).toBe(name)
  })

  for (const command of commands.keys())
    test(`${command} --help describes its flags, and does nothing`, async () => {
      const { code, out, error } = await run([...command.split(' '), '--help', '--nonsense'])
      expect([code, error]).toEqual([0, ''])
      expect(out).toContain(`Usage: modelgate ${command}`)
      expect(out).toContain('--help')
      expect(existsSync(join(folder, 'data'))).toBe(false)
    })

  for (const command of commands.keys())
    test(`${command} refuses unknown flags and words, and does nothing`, async () => {
      const flag = await run([...command.split(' '), '--confgi', 'x'])
      expect([flag.code, flag.out]).toEqual([2, ''])
      expect(flag.error).toContain("Unknown option '--confgi'")
      const word = await run([...command.split(' '), 'one', 'two'])
      expect([word.code, word.out]).toEqual([2, ''])
      expect(word.error).toMatch(/'(one|two)' is one word too many; modelgate .* --help/)
      expect(existsSync(join(folder, 'data'))).toBe(false)
    })

  test('a similar word is suggested', async () => {
    expect((await run(['serve', '--prot', '1'])).error).toContain('did you mean --port?')
    expect((await run(['chekc'])).error).toContain("there is no command 'chekc', did you mean 'check'?")
    expect((await run(['xyzzy'])).error).toContain('modelgate --help')
    // As one argument it is no name.
    expect((await run(['keys list', '--confgi', 'x'])).error).toContain("there is no command 'keys list'")
    const group = await run(['keys'])
    expect([group.code, group.out.split('\n').length]).toEqual([2, 5])
    expect((await run(['keys', '--help'])).code).toBe(0)
  })

  test('an unknown word or flag is reported with the known ones', async () => {
    const word = await run(['keys', 'lits'])
    expect([word.code, word.out]).toEqual([2, ''])
    expect(word.error).toStartWith("there is no command 'keys lits', did you mean 'keys list'? these are there:\n")
    expect(word.error).toContain('modelgate keys create')
    expect((await run(['models', 'xyzzy'])).error).toStartWith(
      "there is no command 'models xyzzy'; these are there:\n  modelgate models list",
    )
    expect((await run(['serve', '--nonsense'])).error).toBe(
      "Unknown option '--nonsense'; modelgate serve takes --config, --port, --host, --root-path, --data-dir, " +
        '--workers, --tls-cert, --tls-key, --tls-client-ca\n',
    )
    expect((await run(['version', '--nonsense'])).error).toBe(
      "Unknown option '--nonsense'; modelgate version takes no flags\n",
    )
  })

  const wrong: [string[], string][] = [
    [['serve', '--port', '70000'], '--port must be a port from 0 to 65535'],
    [['serve', '--port', 'http'], "got 'http'"],
    [['serve', '--port'], '--port needs a value: --port N'],
    [['serve', '--port', '-1'], "--port must be a port from 0 to 65535; got '-1'"],
    [['serve', '--host', '--port', '1'], '--host needs a value: --host H, or --host=H where it begins with a dash'],
    [['keys', 'list', '--json=yes'], '--json takes no value'],
    [['keys', 'create', '--rpm', '-5'], "--rpm must be a whole number from 0 to 1000000000; got '-5'"],
    [['keys', 'create', '--rpm', '99999999999'], '--rpm must be a whole number from 0 to 1000000000'],
    [['keys', 'create', '--rpm', ''], "--rpm must be a whole number from 0 to 1000000000; got ''"],
    [['keys', 'create', '--alias', ''], '--alias must not be empty'],
    [['keys', 'create', '--alias', 'x'.repeat(3000)], '--alias must be at most 255 characters; got 3000 characters'],
    [['keys', 'create', '--alias', 'two\nlines'], "--alias must not hold control characters; got 'two\\nlines'"],
    [['keys', 'create', '--user', ''], '--user must not be empty'],
    [['keys', 'create', '--team', '\t'], '--team must not hold control characters'],
    [['keys', 'create', '--model', 'good', '--model', ''], "--model must not be empty; got ''"],
    [['keys', 'create', '--duration', '99999999999d'], '--duration must be at most 365000d'],
    [['keys', 'create', '--duration', '0s'], '--duration must be at least 1s'],
    [['keys', 'create', '--tpm', '1.5'], '--tpm'],
    [['keys', 'create', '--parallel', 'x'], '--parallel'],
    [['keys', 'create', '--duration', '3 weeks'], '--duration must be a number and a unit: 45s'],
    [['keys', 'revoke'], 'name the key'],
    [['check'], 'name the file'],
    [['simulate', '--seed', 'abc'], '--seed must be a whole number'],
  ]
  for (const [words, message] of wrong)
    test(`'${words.join(' ')}' is a usage error: ${message}`, async () => {
      const { code, out, error } = await run(words)
      expect([code, out]).toEqual([2, ''])
      expect(error).toContain(message)
      expect(error.trim().split('\n')).toHaveLength(1)
      // A usage error creates nothing.
      expect(existsSync(join(folder, 'data', 'modelgate.sqlite'))).toBe(false)
    })

  const wrongEnvironment: [Record<string, string>, string][] = [
    [{ MODELGATE_LOG_LEVEL: 'loud' }, "MODELGATE_LOG_LEVEL must be one of debug, info, warn, error, off; got 'loud'"],
    [{ MODELGATE_DRAIN_MS: '5s' }, 'MODELGATE_DRAIN_MS must be a whole number of milliseconds'],
    [{ REDIS_URL: 'foo' }, 'REDIS_URL must begin with redis:// or rediss://'],
    [{ REDIS_URL: 'http://:secret-word@h/' }, 'REDIS_URL must begin with redis:// or rediss://'],
    [{ DATABASE_URL: 'mysql://u:secret-word@h/x' }, 'DATABASE_URL must begin with postgres://'],
    [
      { DATABASE_URL: 'postgres://u:secret-word#1@h/x' },
      'DATABASE_URL is no address that can be read; special characters of user and password are written with a ' +
        'percent sign',
    ],
    [{ REDIS_URL: 'redis://u:secret-word#1@h' }, 'REDIS_URL is no address that can be read'],
  ]
  for (const [environment, message] of wrongEnvironment)
    test(`a wrong ${Object.keys(environment)[0]} is refused before anything is opened`, async () => {
      const { code, out, error } = await run(['serve', '--port', '0'], environment)
      expect([code, out]).toEqual([2, ''])
      expect(error).toContain(message)
      expect(error).not.toContain('secret-word')
      expect(existsSync(join(folder, 'data'))).toBe(false)
    })

  test('an empty master key in the environment is refused: it is a variable that was not filled', async () => {
    for (const empty of ['', ' \n']) {
      const { code, error } = await run(['serve'], { MODELGATE_MASTER_KEY: empty })
      expect([code, existsSync(join(folder, 'data'))]).toEqual([2, false])
      expect(error).toContain('MODELGATE_MASTER_KEY is empty')
      expect(error).toContain('openssl rand')
    }
  })

  test('an invalid PORT in the environment is reported as such', async () => {
    const { code, error } = await run(['serve'], { PORT: 'x' })
    expect(code).toBe(2)
    expect(error).toContain('PORT must be a port')
  })
})

describe('check', () => {
  test('a valid file: models are counted, unknown prices are a warning', async () => {
    const file = config(goodConfig)
    const { code, out, error } = await run(['check', file])
    expect(code).toBe(0)
    expect(out).toMatch(new RegExp(`^${file} is good: 1 model, and \\d+ built-in ones\n$`))
    expect(error).toContain('warning: ')
    expect(error).toContain('mine (')
  })

  test('each mistake is one line with file, line and column; stdout is empty', async () => {
    const file = config(
      'model_list:\n  - model_name: a\n    proxy_params: { model: 5 }\nrouter_settings: { num_retries: -1 ' +
        '}\nlitellm_setings: {}\n',
    )
    const { code, out, error } = await run(['check', file])
    expect([code, out]).toEqual([1, ''])
    const lines = error.trim().split('\n')
    expect(lines.length).toBe(3)
    for (const line of lines) expect(line).toMatch(new RegExp(`^${file}:\\d+:\\d+ [a-z_.0-9]+: `))
    expect(lines.map(line => Number(/:(\d+):/.exec(line)![1]))).toEqual([3, 4, 5])
  })

  test('as JSON; the file from the flag or the environment', async () => {
    const file = config(goodConfig)
    const good = await run(['check', '--json'], { MODELGATE_CONFIG: file })
    expect(JSON.parse(good.out)).toMatchObject({ ok: true, mistakes: [], warnings: [expect.stringContaining('mine')] })
    config('model_list: 5\n')
    const bad = await run(['check', '--json', '--config', file])
    expect(bad.code).toBe(1)
    expect(JSON.parse(bad.out)).toMatchObject({ ok: false, mistakes: [expect.stringContaining('model_list')] })
  })

  test('a missing file', async () => {
    const { code, error } = await run(['check', join(folder, 'nowhere.yaml')])
    expect([code, error]).toEqual([1, `${join(folder, 'nowhere.yaml')}: no such file\n`])
    const json = await run(['check', '--json', join(folder, 'nowhere.yaml')])
    expect([json.code, json.error]).toEqual([1, ''])
    expect(JSON.parse(json.out)).toEqual({
      ok: false,
      mistakes: [`${join(folder, 'nowhere.yaml')}: no such file`],
      warnings: [],
    })
  })

  test('a directory in the place of the file is said by every command', async () => {
    for (const words of [
      ['check', folder],
      ['models', 'list', '--config', folder],
      ['config', 'print', '--config', folder],
      ['keys', 'create', '--config', folder],
      ['serve', '--port', '0', '--config', folder],
    ]) {
      const { code, out, error } = await run(words)
      expect([words[0], code, out]).toEqual([words[0], 1, ''])
      expect(error).toBe(`${folder}: is a directory; name the file in it, such as config.yaml\n`)
    }
    expect((await run(['serve', '--port', '0', '--config', join(folder, 'none')])).error).toContain(': no such file')
    expect(existsSync(join(folder, 'data'))).toBe(false)
  })

  test('an empty file is refused, by every command that reads it', async () => {
    for (const text of ['', '\n \n', '# later\n', '---\n']) {
      const file = config(text)
      for (const words of [
        ['check', file],
        ['models', 'list', '--config', file],
        ['serve', '--port', '0', '--config', file],
      ]) {
        const { code, out, error } = await run(words)
        expect([code, out]).toEqual([1, ''])
        expect(error).toStartWith(`${file}:1:1 the file is empty; give it a \`model_list\``)
      }
    }
    expect((await run(['check', config('model_list: []\n')])).out).toMatch(
      / is good: \d+ models, all of them built-in\n$/,
    )
  })

  test('warnings are reported beside mistakes', async () => {
    const file = config('model_list: 5\nrouter_settings: { retry_after: 5 }\n')
    const { error } = await run(['check', file])
    expect(error.trim().split('\n')).toEqual([
      expect.stringContaining('model_list: must be a list'),
      `warning: ${file}:2:20 router_settings.retry_after: has no effect here: \`num_retries\` and \`max_attempts\` bound the attempts of a call`,
    ])
    expect(JSON.parse((await run(['check', '--json', file])).out)).toMatchObject({
      ok: false,
      warnings: [expect.stringContaining('retry_after')],
    })
  })

  test('--strict: warnings are mistakes', async () => {
    const file = config(goodConfig)
    const strict = await run(['check', '--strict', file])
    expect([strict.code, strict.out, strict.error.startsWith('warning: ')]).toEqual([1, '', true])
    expect(JSON.parse((await run(['check', '--strict', '--json', file])).out)).toMatchObject({
      ok: false,
      mistakes: [],
    })
    const clean = config(
      'model_list:\n  - { model_name: m, proxy_params: { model: groq/llama-3.1-8b-instant, api_key: k } }\n',
    )
    expect([(await run(['check', '--strict', clean])).code, (await run(['check', clean])).error]).toEqual([0, ''])
  })

  test('--no-env: variables need not be set, and all else is checked', async () => {
    const text =
      'model_list:\n  - { model_name: a, proxy_params: { model: openai/gpt-4o } }\n' +
      '  - { model_name: b, proxy_params: { model: groq/x, api_key: os.environ/NOT_SET } }\n' +
      '  - { model_name: c, proxy_params: { model: custom_openai/x, api_base: "${NOT_SET}/v1", weight: 2 } }\n' +
      '  - { model_name: d, proxy_params: { model: bedrock/anthropic.claude-x } }\n' +
      'router_settings: { fallbacks: [{ a: [c] }] }\n'
    expect((await run(['check', config(text)])).code).toBe(1)
    const any = await run(['check', '--no-env', config(text)])
    expect([any.code, any.out]).toEqual([0, expect.stringContaining('is good: variables were not looked up')])
    const wrong = await run([
      'check',
      '--no-env',
      config(text.replace('weight: 2', 'weight: heavy').replace('[c]', '[no]')),
    ])
    expect([wrong.code, wrong.error.match(/^(?!warning)/gm)!.length]).toEqual([1, 3])
    expect(wrong.error).toContain('proxy_params.weight: must be a number')
    expect(wrong.error).toContain('no model is named `no`')
  })

  test('secrets in the file itself are a warning that does not show them', async () => {
    const secret = 'sk-0Zq8vWm3Yx5Rk7Lp2Td9Nc4Hb6Jf1GsAe'
    const file = (key: string) =>
      config(
        `model_list:\n  - { model_name: m, proxy_params: { model: groq/llama-3.1-8b-instant, api_key: ${key} } }\n` +
          `general_settings: { master_key: ${key}, database_url: "postgres://u:${key}@h/x" }\n` +
          `environment_variables: { SOME_TOKEN: ${key}, SOME_NAME: a-name-that-is-long }\n`,
      )
    const { code, error } = await run(['check', file(secret)])
    expect([code, error]).toEqual([0, expect.not.stringContaining(secret)])
    const places = error.match(
      /^warning: .*:\d+:\d+ \S+: a secret stands in the file itself; .* os\.environ\/NAME here$/gm,
    )
    expect(places!.map(line => line.split(' ')[2])).toEqual([
      'model_list.0.proxy_params.api_key:',
      'general_settings.master_key:',
      'general_settings.database_url:',
      'environment_variables.SOME_TOKEN:',
    ])
    expect((await run(['check', file('os.environ/GIVEN')], { GIVEN: secret })).error).not.toContain('a secret stands')
  })
})

/** As after a first start, without a master key. */
async function database(directory = join(folder, 'data')): Promise<void> {
  mkdirSync(directory, { recursive: true })
  const opened = await openDatabase(`sqlite:${join(directory, 'modelgate.sqlite')}`)
  await migrate(opened)
  await opened.close()
}

describe('keys', () => {
  beforeEach(() => database())

  test('created, listed, revoked by id, alias or text', async () => {
    const key = (
      await run([
        'keys',
        'create',
        '--alias',
        'ci',
        '--user',
        'u',
        '--model',
        'a',
        '--model',
        'b/*',
        '--duration',
        '30d',
        '--rpm',
        '5',
      ])
    ).out.trim()
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
    expect(rows.find(row => row.alias === 'ci')).toMatchObject({
      userId: 'u',
      models: ['a', 'b/*'],
      requestsPerMinute: 5,
      createdBy: 'cli',
    })
    for (const named of [key, second.token_id]) expect((await run(['keys', 'revoke', named])).out).toBe('revoked\n')
    const again = await run(['keys', 'revoke', key])
    expect([again.code, again.out]).toEqual([1, ''])
    expect(JSON.parse((await run(['keys', 'list', '--json'])).out)).toEqual([])
  })

  test('max_keys_per_user applies here too', async () => {
    const words = ['keys', 'create', '--user', 'u', '--config', config(goodConfig)]
    expect([(await run(words)).code, (await run(words)).code]).toEqual([0, 0])
    const third = await run(words)
    expect([third.code, third.out]).toEqual([1, ''])
    expect(third.error).toContain('already has 2 key(s)')
    expect((await run(['keys', 'create', '--config', config(goodConfig)])).code).toBe(0)
  })

  test(
    'the limit is that of MODELGATE_CONFIG too; without a configuration it is said that none was ' + 'checked',
    async () => {
      const words = ['keys', 'create', '--user', 'u']
      const environment = { MODELGATE_CONFIG: config(goodConfig) }
      const made = [await run(words, environment), await run(words, environment), await run(words, environment)]
      expect(made.map(one => [one.code, one.error.includes('already has 2 key(s)')])).toEqual([
        [0, false],
        [0, false],
        [1, true],
      ])
      const unchecked = await run(words)
      expect([unchecked.code, unchecked.out]).toEqual([0, expect.stringMatching(/^sk-\S{43}\n$/)])
      const note =
        'note: no configuration was read, so that max_keys_per_user and the bounds of keys were not checked; name it ' +
        'with --config or MODELGATE_CONFIG\n'
      const noUser = "note: there is no user 'u', so that nothing of it holds for this key; make one\n"
      expect(unchecked.error).toBe(noUser + note)
      expect((await run(['keys', 'create'])).error).toBe(note)
    },
  )

  test('the defaults and bounds of new keys apply here too', async () => {
    const file = config(`${goodConfig}settings:
  default_key_generate_params: { max_budget: 5, rpm_limit: 600, models: [good] }
  upperbound_key_generate_params: { max_budget: 10, duration: 90d, rpm_limit: 60 }
`)
    const refused = await run(['keys', 'create', '--config', file, '--rpm', '61', '--duration', '91d'])
    expect([refused.code, refused.out]).toEqual([2, ''])
    expect(refused.error).toContain('--rpm must be at most 60')
    expect(refused.error).toContain('--duration must be at most 7776000s')
    expect(JSON.parse((await run(['keys', 'list', '--json'])).out)).toEqual([])
    await run(['keys', 'create', '--config', file])
    const [made] = JSON.parse((await run(['keys', 'list', '--json'])).out) as [KeyRecord]
    expect(made).toMatchObject({ maxBudgetNanoUsd: '5000000000', requestsPerMinute: 60, models: ['good'] })
    expect(Math.round((made.expiresAtMs! - Date.now()) / 86_400_000)).toBe(90)
  })

  test('a key gets its budget, period, expiry, models and owner by flags', async () => {
    const flags = '--budget 20.5 --period 1mo --soft-budget 10 --duration 90d --model m --user u --tag a --tag b --json'
    const { code, out } = await run(['keys', 'create', ...flags.split(' ')])
    expect([code, JSON.parse(out)]).toEqual([0, { key: expect.any(String), token_id: expect.any(String) }])
    const [made] = JSON.parse((await run(['keys', 'list', '--json'])).out) as [KeyRecord]
    expect(made).toMatchObject({
      maxBudgetNanoUsd: '20500000000',
      softBudgetNanoUsd: '10000000000',
      budgetDuration: '1mo',
      models: ['m'],
      userId: 'u',
      tags: ['a', 'b'],
    })
    const wrongs = [
      ['--budget -1', '--budget must be an amount of dollars', 2],
      ['--budget 5 --soft-budget 6', '--soft-budget must be at most --budget', 2],
      ['--period 30d', '--period has no effect without a budget; give one with --budget', 2],
      ['--period x --budget 1', '--period ', 2],
      ['--team nowhere', "there is no team 'nowhere'; make it first", 1],
    ] as const
    for (const [words, message, exit] of wrongs) {
      const refused = await run(['keys', 'create', ...words.split(' ')])
      expect([words, refused.code, refused.out]).toEqual([words, exit, ''])
      expect(refused.error).toContain(message)
    }
    expect(JSON.parse((await run(['keys', 'list', '--json'])).out)).toHaveLength(1)
    expect((await run(['keys', 'create', '--named-budget', 'b'])).error).toContain("there is no budget 'b'")
  })

  test('the list stays a table for any stored values', async () => {
    const { token_id: id } = JSON.parse(
      (await run(['keys', 'create', '--json', '--alias', 'one', '--model', 'm'])).out,
    ) as { token_id: string }
    await run(['keys', 'create', '--alias', '\u6f22\u5b57', '--duration', '1s'])
    const sql = new SQL(`sqlite:${join(folder, 'data', 'modelgate.sqlite')}`)
    const alias = 'a\nb\u001b[31m\u2028\u202e'
    const user = 'u'.repeat(3000)
    await sql`update virtual_keys set alias = ${alias}, user_id = ${user}, models = '[""]' where id = ${id}`
    await sql`update virtual_keys set expires_at_ms = 1000 where id <> ${id}`
    await sql.close()
    const lines = (await run(['keys', 'list'])).out.trimEnd().split('\n')
    expect(lines).toHaveLength(3)
    const odd = lines.find(line => line.startsWith(id))!
    expect(odd).toContain('a\\u{a}b\\u{1b}[31m\\u{2028}\\u{202e}  ')
    expect(odd).toMatch(/ u{97}\.\.\. {2}'' +active$/)
    expect(lines.some(line => / all +1970-01-01 00:00 {2}expired$/.test(line))).toBe(true)
    const starts = lines.map(line =>
      Bun.stringWidth(/^.*(STATE|active|expired)$/.exec(line)![0].replace(/(STATE|active|expired)$/, '')),
    )
    expect(new Set(starts).size).toBe(1)
  })

  test('no command on keys makes a database where there is none', async () => {
    rmSync(join(folder, 'data'), { recursive: true })
    const directory = join(folder, 'typo')
    const every = [
      ['keys', 'list'],
      ['keys', 'revoke', 'ci'],
      ['keys', 'create'],
      ['keys', 'reset-master'],
    ]
    for (const words of every) {
      const { code, out, error } = await run([...words, '--data-dir', directory])
      expect([code, out]).toEqual([1, ''])
      expect(error).toStartWith(`the data directory ${directory} cannot be used: it holds no database; `)
      expect(error).toContain('--data-dir')
    }
    const elsewhere = await run(['keys', 'list'], { DATABASE_URL: `sqlite:${join(folder, 'no.sqlite')}` })
    expect([elsewhere.code, elsewhere.error]).toEqual([
      1,
      `there is no database at ${join(folder, 'no.sqlite')}; check DATABASE_URL (or general_settings.database_url), ` +
        'or start the gateway first\n',
    ])
    expect(readdirSync(folder)).toEqual([])
    // Nor in an empty file, as an interrupted copy leaves.
    mkdirSync(directory)
    writeFileSync(join(directory, 'modelgate.sqlite'), '')
    for (const words of every)
      expect((await run([...words, '--data-dir', directory])).error).toContain('it holds no database')
    expect(statSync(join(directory, 'modelgate.sqlite')).size).toBe(0)
  })

  test('a database that cannot be reached is an error with its reason, exit code 1', async () => {
    const { code, out, error } = await run(['keys', 'list'], {
      DATABASE_URL: 'postgres://nobody:secret-word@127.0.0.1:1/x',
    })
    expect([code, out]).toEqual([1, ''])
    expect(error).toStartWith('the database at 127.0.0.1:1 cannot be used: ')
    expect(error).toContain('check DATABASE_URL')
    expect(error).not.toContain('secret-word')
  })

  test('an alias that several keys share revokes none of them', async () => {
    const made = [
      await run(['keys', 'create', '--alias', 'ci', '--json']),
      await run(['keys', 'create', '--alias', 'ci']),
    ]
    const refused = await run(['keys', 'revoke', 'ci'])
    expect([refused.code, refused.out]).toEqual([1, ''])
    expect(refused.error).toContain("2 keys have the alias 'ci'; name the one by its id")
    expect((await run(['keys', 'revoke', (JSON.parse(made[0]!.out) as { token_id: string }).token_id])).code).toBe(0)
    expect((await run(['keys', 'revoke', 'ci'])).code).toBe(0)
    expect(JSON.parse((await run(['keys', 'list', '--json'])).out)).toEqual([])
  })

  test('an unusable data directory is reported with the flag to change', async () => {
    const file = config('')
    for (const words of [
      ['serve', '--port', '0'],
      ['keys', 'list'],
    ])
      for (const directory of [file, join(file, 'below')]) {
        const { code, out, error } = await run([...words, '--data-dir', directory])
        expect([code, out]).toEqual([1, ''])
        expect(error).toStartWith(`the data directory ${directory} cannot be used: `)
        expect(error).toContain('--data-dir')
      }
  })

  test('an invalid or foreign address is reported with the flag to change', async () => {
    for (const host of ['999.1.1.1', '203.0.113.7']) {
      const { code, out, error } = await run(['serve', '--port', '0', '--host', host], { MODELGATE_LOG_LEVEL: 'off' })
      expect([code, out]).toEqual([1, ''])
      expect(error).toStartWith(`cannot listen on '${host}': `)
      expect(error).toContain('give --host an address of this machine')
    }
  })

  test('nothing is left behind beside the database', async () => {
    await run(['keys', 'create'])
    expect(readdirSync(join(folder, 'data')).filter(name => !name.startsWith('modelgate.sqlite'))).toEqual([])
  })
})

describe('listings', () => {
  test('models of a file, as a table and as JSON', async () => {
    const file = config(goodConfig)
    const table = await run(['models', 'list', '--config', file])
    expect(table.out).toMatch(/^NAME +UPSTREAM +MODE +PRICE +SOURCE\n/)
    expect(table.out).toMatch(/mine +custom_openai\/x +chat +unknown +.*config\.yaml:2/)
    const rows = JSON.parse((await run(['models', 'list', '--json', '--config', file])).out) as {
      name: string
      id: string
    }[]
    expect(rows.find(row => row.name === 'mine')).toMatchObject({
      provider: 'custom_openai',
      model: 'x',
      mode: 'chat',
      priced: false,
    })
    const bad = await run(['models', 'list', '--config', config('model_list: 5\n')])
    expect([bad.code, bad.out]).toEqual([1, ''])
  })

  test('without a file, the environment decides', async () => {
    const rows = JSON.parse((await run(['models', 'list', '--json'], { MISTRAL_API_KEY: 'k' })).out) as {
      name: string
      source: string
    }[]
    expect(rows.find(row => row.name === 'mistral/*')?.source).toBe('MISTRAL_API_KEY')
    expect(rows.some(row => row.source === 'local')).toBe(true)
  })

  test('the schema is JSON Schema of the file', async () => {
    const schema = JSON.parse((await run(['config', 'schema'])).out) as {
      type: string
      properties: Record<string, unknown>
    }
    expect(schema.type).toBe('object')
    expect(Object.keys(schema.properties)).toContain('model_list')
  })

  test('the version is that of the package', async () => {
    for (const words of [['version'], ['--version']])
      expect((await run(words)).out).toStartWith(`modelgate ${packageJson.version} (bun `)
  })
})
