import { expect, test } from 'bun:test'
import { readSettings } from './read-settings.ts'
import { providers } from '../providers/index.ts'
import { SecretSources, secretReferencesIn } from './secret-sources.ts'

function sources(values: Record<string, string | Error>) {
  const asked: string[] = []
  const reader = (kind: string) => async (rest: string) => {
    asked.push(`${kind}/${rest}`)
    const value = values[`${kind}/${rest}`] ?? new Error('not there')
    if (value instanceof Error) throw value
    return value
  }
  const secrets = new SecretSources({ file: reader('file'), vault: reader('vault'), command: reader('command') })
  return { secrets, asked, values }
}

test('references are found at any depth, and nothing else is taken for one', () => {
  const value = { a: 'vault/kv/x#y', b: [{ c: 'file/run/z' }, 'openai/gpt-4o'], d: 'command/pass show x', e: 'file/' }
  expect(secretReferencesIn(value)).toEqual(['vault/kv/x#y', 'file/run/z', 'command/pass show x'])
})

test('a source that fails keeps what was read last, and says so', async () => {
  const { secrets, values } = sources({ 'file/a': 'one\n' })
  expect(await secrets.read(['file/a', 'vault/b#c'])).toEqual(['file/a', 'vault/b#c'])
  expect(secrets.known.get('file/a')).toEqual({ value: 'one' })
  expect(secrets.known.get('vault/b#c')).toEqual({ problem: 'not there' })
  expect(await secrets.read(['file/a'])).toEqual([])
  values['file/a'] = new Error('away')
  const failed: string[] = []
  expect(await secrets.read(['file/a'], (reference, problem) => failed.push(`${reference}: ${problem}`))).toEqual([])
  expect(failed).toEqual(['file/a: away'])
  expect(secrets.known.get('file/a')).toEqual({ value: 'one' })
  values['file/a'] = 'two'
  expect(await secrets.read(['file/a'])).toEqual(['file/a'])
  expect(secrets.known.get('file/a')).toEqual({ value: 'two' })
})

test('a source that never answers is given up after seconds, and holds no other up', async () => {
  const silent = () => new Promise<string>(() => {})
  const secrets = new SecretSources({ file: async () => 'here', vault: silent, command: silent })
  const slow = secrets.read(['vault/a/b#c', 'file/x'])
  await secrets.read(['file/y'])
  expect(secrets.known.get('file/y')).toEqual({ value: 'here' })
  await slow
  expect(secrets.known.get('vault/a/b#c')).toEqual({ problem: 'no answer within 5 seconds' })
})

test('empty and huge values are no secrets, and their number is bounded', async () => {
  const { secrets } = sources({ 'file/empty': '\n', 'file/huge': 'x'.repeat(70_000) })
  await secrets.read(['file/empty', 'file/huge'])
  expect(secrets.known.get('file/empty')).toEqual({ problem: 'it is empty' })
  expect(secrets.known.get('file/huge')).toEqual({ problem: 'it is too long for a secret' })
  await secrets.read(Array.from({ length: 1010 }, (_, at) => `file/${at}`))
  expect(secrets.known.get('file/1009')).toEqual({ problem: expect.stringContaining('more than 1000') })
})

const text = `
model_list:
  - { model_name: a, proxy_params: { model: groq/a, api_key: vault/kv/groq#key } }
  - { model_name: file/b, proxy_params: { model: custom_openai/file/b, api_base: "http://127.0.0.1:1/v1", credential_name: c } }
credential_list:
  - { credential_name: c, credential_values: { api_key: "command/pass show c", extra_headers: { x-a: file/run/a } } }
`

test('keys of models, credentials and headers are filled in; names that look alike are left as they are', async () => {
  const { secrets, asked } = sources({ 'vault/kv/groq#key': 'k1', 'command/pass show c': 'k2', 'file/run/a': 'k3' })
  await secrets.read(['vault/kv/groq#key', 'command/pass show c', 'file/run/a'])
  const { settings, mistakes } = readSettings({ text, file: 'c.yaml', environment: {}, providers, secrets })
  expect(mistakes).toEqual([])
  const [a, b] = settings!.deployments
  expect([a!.target.apiKey?.reveal(), b!.target.apiKey?.reveal()]).toEqual(['k1', 'k2'])
  expect([b!.modelName, b!.target.model, b!.target.headers['x-a']]).toEqual(['file/b', 'file/b', 'k3'])
  expect(asked.length).toBe(3)
})

test('what cannot be read is a mistake at its place; without sources it is not checked', async () => {
  const { secrets } = sources({})
  await secrets.read(['vault/kv/groq#key', 'command/pass show c'])
  const { mistakes } = readSettings({ text, file: 'c.yaml', environment: {}, providers, secrets })
  expect(mistakes).toEqual([
    'c.yaml:3:62 model_list.0.proxy_params.api_key: `vault/kv/groq#key` cannot be read: not there',
    expect.stringMatching(/^c\.yaml:6:\d+ .*api_key: the output of the command cannot be read: not there$/),
    expect.stringMatching(/^c\.yaml:6:\d+ .*x-a: `file\/run\/a` is not read yet/),
  ])
  expect(readSettings({ text, file: 'c.yaml', environment: {}, providers }).mistakes).toEqual([])
})
