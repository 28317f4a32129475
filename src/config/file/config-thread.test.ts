import { afterAll, expect, test } from 'bun:test'
import { ConfigThread } from './config-thread.ts'
import { readConfig } from './parse.ts'

const thread = new ConfigThread()
afterAll(() => thread.close())

const text = `litellm_settings: { num_retries: 1, num_retrys: 2 }
model_list:
  - model_name: a
    litellm_params:
      model: openai/a
      api_key: file/keys/a
  - { model_name: b, litellm_params: { model: openai/b, api_key: os.environ/B } }
`
const options = { file: 'c.yaml', environment: { B: 'sk-b' }, secrets: new Map([['file/keys/a', { value: 'sk-a' }]]) }

test('what the thread reads is what this one reads: values, mistakes, places, names of the file', async () => {
  const { lineOf, placeOf, writtenPath, ...data } = await thread.read(text, options)
  const here = readConfig(text, options)
  expect(here).toMatchObject(data)
  expect(data.mistakes).toEqual([expect.stringContaining('c.yaml:1:37 litellm_settings.num_retrys: unknown key')])
  expect(data.entries?.map(one => one.entry?.proxy_params.api_key)).toEqual(['sk-a', 'sk-b'])
  expect(data.references).toEqual(['file/keys/a'])
  for (const path of [
    [],
    ['settings', 'num_retries'],
    ['model_list', 0, 'proxy_params', 'api_key'],
    ['model_list', 7],
  ]) {
    expect(placeOf(path)).toBe(here.placeOf(path))
    expect([lineOf(path), writtenPath(path)]).toEqual([here.lineOf(path), here.writtenPath(path)])
  }
  expect(placeOf(['model_list', 0, 'proxy_params', 'api_key'])).toBe('c.yaml:6:16')
})

test('texts are read one after the other, and after the thread has ended by another one', async () => {
  const names = async (name: string) =>
    (await thread.read(`model_list: [{ model_name: ${name}, litellm_params: { model: openai/a } }]`, options)).entries
  const both = await Promise.all([names('one'), names('two')])
  expect(both.map(entries => entries?.[0]?.name)).toEqual(['one', 'two'])
  thread.close()
  expect((await names('three'))?.[0]?.name).toBe('three')
})

test('a secret that has become known is read', async () => {
  const secrets = new Map<string, { readonly value: string }>()
  const keyOf = async () => (await thread.read(text, { ...options, secrets })).entries?.[0]?.entry?.proxy_params.api_key
  expect(await keyOf()).toBeUndefined()
  secrets.set('file/keys/a', { value: 'sk-later' })
  expect(await keyOf()).toBe('sk-later')
})
