import { expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ConfigProcess } from './config-process.ts'
import { readConfig } from './parse.ts'

const reader = new ConfigProcess()

const text = `litellm_settings: { num_retries: 1, num_retrys: 2 }
model_list:
  - model_name: a
    litellm_params:
      model: openai/a
      api_key: file/keys/a
  - { model_name: b, litellm_params: { model: openai/b, api_key: os.environ/B } }
`
const options = { file: 'c.yaml', environment: { B: 'sk-b' }, secrets: new Map([['file/keys/a', { value: 'sk-a' }]]) }

test('what the process reads is what this one reads: values, mistakes, places, names of the file', async () => {
  const { lineOf, locationOf, writtenPath, ...data } = await reader.read(text, options)
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
    expect(locationOf(path)).toBe(here.locationOf(path))
    expect([lineOf(path), writtenPath(path)]).toEqual([here.lineOf(path), here.writtenPath(path)])
  }
  expect(locationOf(['model_list', 0, 'proxy_params', 'api_key'])).toBe('c.yaml:6:16')
})

test('texts that are asked for at once are read each; the same text is read once until it is forgotten', async () => {
  const counted = join(mkdtempSync(join(tmpdir(), 'modelgate-reader-')), 'reads')
  const worker = fileURLToPath(new URL('config-worker.ts', import.meta.url))
  const counting = new ConfigProcess(['sh', '-c', `echo >> ${counted}; exec ${process.execPath} ${worker}`])
  const names = async (name: string) =>
    (await counting.read(`model_list: [{ model_name: ${name}, litellm_params: { model: openai/a } }]`, options)).entries
  const both = await Promise.all([names('one'), names('two')])
  expect(both.map(entries => entries?.[0]?.name)).toEqual(['one', 'two'])
  expect((await names('two'))?.[0]?.name).toBe('two')
  expect(readFileSync(counted, 'utf8').length).toBe(2)
  counting.forget()
  expect((await names('two'))?.[0]?.name).toBe('two')
  expect(readFileSync(counted, 'utf8').length).toBe(3)
  rmSync(dirname(counted), { recursive: true })
})

test('where no process can be started, or it fails, the file is read in this one', async () => {
  for (const command of [['/no/such/program'], ['false'], ['true']]) {
    const { mistakes } = await new ConfigProcess(command).read(text, options)
    expect(mistakes).toEqual(readConfig(text, options).mistakes)
  }
})

test('a secret that has become known is read', async () => {
  const secrets = new Map<string, { readonly value: string }>()
  const keyOf = async () => (await reader.read(text, { ...options, secrets })).entries?.[0]?.entry?.proxy_params.api_key
  expect(await keyOf()).toBeUndefined()
  secrets.set('file/keys/a', { value: 'sk-later' })
  expect(await keyOf()).toBe('sk-later')
})
