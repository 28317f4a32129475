/** The configuration of coding agents, written and taken back. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runCommand } from '../cli-fixture.ts'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'modelgate-setup-'))
  mkdirSync(join(home, '.claude'))
  mkdirSync(join(home, '.codex'))
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

const url = 'https://gateway.example.com'
const run = (...words: readonly string[]) =>
  runCommand(['setup', ...words], { HOME: home, MODELGATE_CONFIG_HOME: join(home, 'config'), PATH: '' })
const setUp = (agent: string, ...words: readonly string[]) =>
  run(agent, '--url', url, '--command', '/opt/modelgate', ...words)
const claudeFile = () => join(home, '.claude/settings.json')
const codexFile = () => join(home, '.codex/config.toml')
const claude = () => JSON.parse(readFileSync(claudeFile(), 'utf8')) as Record<string, unknown>

test('claude-code gets its address and the key command, and keeps its other settings', async () => {
  writeFileSync(claudeFile(), JSON.stringify({ theme: 'dark', env: { FOO: '1', ANTHROPIC_BASE_URL: 'https://old' } }))
  const { code, error } = await setUp('claude-code', '--model', 'my-model')
  expect([code, error]).toEqual([0, expect.stringContaining('is kept as')])
  expect(claude()).toEqual({
    theme: 'dark',
    apiKeyHelper: `/opt/modelgate token --url ${url}`,
    env: {
      FOO: '1',
      ANTHROPIC_BASE_URL: url,
      CLAUDE_CODE_API_KEY_HELPER_TTL_MS: '300000',
      CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY: '1',
      ANTHROPIC_MODEL: 'my-model',
      ANTHROPIC_DEFAULT_HAIKU_MODEL: 'my-model',
    },
  })
  const backup = readdirSync(join(home, '.claude')).find(name => name.includes('before-modelgate'))!
  expect(readFileSync(join(home, '.claude', backup), 'utf8')).toContain('https://old')
})

test('claude-code keeps its subscription, beside which it sends the key; one way at a time', async () => {
  const own = { HOME: home, MODELGATE_CONFIG_HOME: join(home, 'config'), PATH: '' }
  const words = ['setup', 'claude-code', '--subscription', '--url', url]
  const keyless = await runCommand(words, own)
  expect(keyless).toMatchObject({ code: 2, error: expect.stringContaining('MODELGATE_API_KEY') })
  writeFileSync(claudeFile(), JSON.stringify({ theme: 'dark' }))
  const { code, out } = await runCommand(words, { ...own, MODELGATE_API_KEY: 'sk-of-the-gateway' })
  expect([code, out]).toEqual([0, expect.stringContaining('/login')])
  const env = { ANTHROPIC_BASE_URL: url, ANTHROPIC_CUSTOM_HEADERS: 'x-proxy-api-key: Bearer sk-of-the-gateway' }
  expect(claude()).toEqual({ theme: 'dark', env })
  const other = await setUp('claude-code')
  expect(other).toMatchObject({ code: 2, error: expect.stringContaining('--undo') })
  await run('claude-code', '--undo')
  expect(claude()).toEqual({ theme: 'dark' })
  const codex = await runCommand(['setup', 'codex', '--subscription', '--url', url], own)
  expect(codex).toMatchObject({ code: 2, error: expect.stringContaining('claude-code') })
})

test('gemini-cli gets its way of signing in, and is started with a token that is printed then', async () => {
  mkdirSync(join(home, '.gemini'))
  const file = join(home, '.gemini/settings.json')
  const before = { ui: { theme: 'dark' }, security: { auth: { selectedType: 'oauth-personal' } } }
  writeFileSync(file, JSON.stringify(before))
  const dry = await setUp('gemini-cli', '--dry-run', '--model', 'my-model')
  expect(JSON.parse(dry.out)).toMatchObject({ model: { name: 'my-model' } })
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(before)
  const { code, out } = await setUp('gemini-cli', '--model', 'my-model')
  const command = `GOOGLE_GEMINI_BASE_URL=${url} GEMINI_API_KEY="$(/opt/modelgate token --url ${url})" gemini`
  expect([code, out]).toEqual([0, expect.stringContaining(command)])
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({
    ui: { theme: 'dark' },
    security: { auth: { selectedType: 'gemini-api-key' } },
    model: { name: 'my-model' },
  })
  expect((await run('gemini-cli', '--undo')).code).toBe(0)
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(before)
})

test('for cursor the steps are printed, and nothing is written', async () => {
  const { code, out } = await setUp('cursor', '--model', 'my-model')
  expect([code, out]).toEqual([0, expect.stringContaining(`Override OpenAI Base URL: ${url}/v1`)])
  expect(out).toContain('add a custom model: my-model')
  expect(readdirSync(home).toSorted()).toEqual(['.claude', '.codex'])
})

test('a second setup changes nothing, and undo brings back what stood there before the first', async () => {
  const before = { theme: 'dark', env: { ANTHROPIC_BASE_URL: 'https://old' } }
  writeFileSync(claudeFile(), JSON.stringify(before), { mode: 0o640 })
  await setUp('claude-code')
  expect((await setUp('claude-code')).out).toContain('is set up already')
  await setUp('claude-code', '--model', 'other')
  expect((await run('claude-code', '--undo')).code).toBe(0)
  expect(claude()).toEqual(before)
  expect(statSync(claudeFile()).mode & 0o777).toBe(0o640)
  expect((await run('claude-code', '--undo')).out).toContain('nothing of modelgate setup')
})

test('undo leaves what was changed since, and says so', async () => {
  await setUp('claude-code')
  const changed = claude() as { env: Record<string, string> }
  changed.env.ANTHROPIC_BASE_URL = 'https://mine'
  writeFileSync(claudeFile(), JSON.stringify({ ...changed, theme: 'light' }))
  const { error } = await run('claude-code', '--undo')
  expect(error).toContain('env.ANTHROPIC_BASE_URL was changed since')
  expect(claude()).toEqual({ theme: 'light', env: { ANTHROPIC_BASE_URL: 'https://mine' } })
})

test('a file that setup has made is gone after undo', async () => {
  for (const [agent, file] of [
    ['claude-code', claudeFile()],
    ['codex', codexFile()],
  ] as const) {
    await setUp(agent)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    await run(agent, '--undo')
    expect([agent, existsSync(file)]).toEqual([agent, false])
  }
})

const codexBefore = `# mine
model = "gpt-5"
model_provider = "openai"

[profiles.work]
model_provider = "azure"
`

test('codex gets a provider with the key command; its comments and tables stay, and undo restores every byte', async () => {
  writeFileSync(codexFile(), codexBefore)
  expect((await setUp('codex', '--model', 'claude-model')).code).toBe(0)
  const made = readFileSync(codexFile(), 'utf8')
  expect(Bun.TOML.parse(made)).toEqual({
    model: 'claude-model',
    model_provider: 'modelgate',
    profiles: { work: { model_provider: 'azure' } },
    model_providers: {
      modelgate: {
        name: 'Modelgate',
        base_url: `${url}/v1`,
        wire_api: 'responses',
        auth: {
          command: '/opt/modelgate',
          args: ['token', '--url', url],
          refresh_interval_ms: 300_000,
          timeout_ms: 30_000,
        },
      },
    },
  })
  expect(made).toContain('# mine')
  expect((await setUp('codex', '--model', 'claude-model')).out).toContain('is set up already')
  await run('codex', '--undo')
  expect(readFileSync(codexFile(), 'utf8').trimEnd()).toBe(codexBefore.trimEnd())
})

test('--dry-run prints the file and writes nothing', async () => {
  writeFileSync(codexFile(), codexBefore)
  const { out } = await setUp('codex', '--dry-run')
  expect(Bun.TOML.parse(out)).toMatchObject({ model_provider: 'modelgate' })
  expect(readFileSync(codexFile(), 'utf8')).toBe(codexBefore)
  expect(readdirSync(join(home, '.codex'))).toEqual(['config.toml'])
  await setUp('claude-code', '--dry-run')
  expect(existsSync(claudeFile())).toBe(false)
})

test('a file that cannot be read is not touched, and the message names it', async () => {
  writeFileSync(claudeFile(), '{ // a comment\n  "env": {\n')
  writeFileSync(codexFile(), 'model = \n[')
  for (const [agent, file] of [
    ['claude-code', claudeFile()],
    ['codex', codexFile()],
  ] as const) {
    const text = readFileSync(file, 'utf8')
    const { code, error } = await setUp(agent)
    expect([code, error]).toEqual([1, expect.stringContaining(`${file} cannot be changed`)])
    expect(readFileSync(file, 'utf8')).toBe(text)
  }
})

const commented = `{
    // How it looks.
    "theme": "dark", "list": [1,2,
      3],
    "env": {
        /* of the network */
        "FOO": "1", // stays
        "ANTHROPIC_BASE_URL": "https://old",
    },
}
`

test('JSON keeps its comments, its trailing commas and its layout, and undo restores every byte', async () => {
  for (const before of [commented, commented.replaceAll('\n', '\r\n'), commented.replaceAll('    ', '\t')]) {
    writeFileSync(claudeFile(), before)
    expect((await setUp('claude-code')).code).toBe(0)
    const after = readFileSync(claudeFile(), 'utf8')
    for (const line of before.split('\n').filter(one => !one.includes('https://old'))) expect(after).toContain(line)
    expect(after).toContain(`"ANTHROPIC_BASE_URL": "${url}"`)
    expect((await setUp('claude-code')).out).toContain('is set up already')
    expect((await run('claude-code', '--undo')).code).toBe(0)
    expect(readFileSync(claudeFile(), 'utf8')).toBe(before)
  }
})

test('a name that stands twice, of which editors and agents read another one, is refused', async () => {
  writeFileSync(claudeFile(), '{ "env": { "ANTHROPIC_BASE_URL": "a", "ANTHROPIC_BASE_URL": "b" } }')
  const { code, error } = await setUp('claude-code')
  expect([code, error]).toEqual([1, expect.stringContaining('a name of env.ANTHROPIC_BASE_URL stands in it twice')])
})

test('an unknown agent, and a command that is not there, are refused with the remedy', async () => {
  expect(await run('claude')).toMatchObject({ code: 2, error: expect.stringContaining('modelgate setup claude-code') })
  expect(await run('codex', '--url', url)).toMatchObject({ code: 2, error: expect.stringContaining('--command') })
  expect(await run('codex')).toMatchObject({ code: 2, error: expect.stringContaining('modelgate login') })
})

test('opencode gets a provider and a plugin that asks for the token; undo takes both away', async () => {
  const directory = join(home, '.config/opencode')
  const [file, plugin] = [join(directory, 'opencode.json'), join(directory, 'plugin/modelgate.js')]
  mkdirSync(directory, { recursive: true })
  writeFileSync(file, JSON.stringify({ autoupdate: false, provider: { mine: { npm: 'x' } } }))
  expect(await setUp('opencode')).toMatchObject({ code: 2, error: expect.stringContaining('--model NAME') })
  expect((await setUp('opencode', '--model', 'claude-model')).code).toBe(0)
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({
    autoupdate: false,
    model: 'modelgate/claude-model',
    provider: {
      mine: { npm: 'x' },
      modelgate: {
        npm: '@ai-sdk/openai-compatible',
        name: 'Modelgate',
        options: { baseURL: `${url}/v1` },
        models: { 'claude-model': {} },
      },
    },
  })
  expect(readFileSync(plugin, 'utf8')).toContain(`"/opt/modelgate", ["token","--url","${url}"]`)
  expect((await setUp('opencode', '--model', 'claude-model')).out).toContain('is set up already')
  await run('opencode', '--undo')
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ autoupdate: false, provider: { mine: { npm: 'x' } } })
  expect(existsSync(plugin)).toBe(false)
})
