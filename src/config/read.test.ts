/** Every mistake of a file at once, where it stands, with what was probably meant. */
import { expect, test } from 'bun:test'
import { localModels, providers } from '../providers/index.ts'
import { readSettings } from './settings.ts'

const read = (text: string, environment: Record<string, string> = {}) =>
  readSettings({ text, file: 'config.yaml', environment, providers })

const model = (params: string, more = '') => `model_list:\n  - model_name: m\n    proxy_params: { ${params} }\n${more}`

const mistakes: [string, string, string[]][] = [
  ['a misspelt section', 'model_lst: []\n', ['config.yaml:1:1 model_lst: unknown key, did you mean `model_list`?']],
  ['a misspelt key', model('model: groq/x, api_kye: k, api_key: k'), ['config.yaml:3:36 model_list.0.proxy_params.api_kye: unknown key, did you mean `api_key`?']],
  ['a wrong type', model('model: groq/x, api_key: k, weight: heavy'), ['config.yaml:3:56 model_list.0.proxy_params.weight: expected number, received string; got "heavy"']],
  ['an unset variable', model('model: groq/x, api_key: os.environ/NOPE'), ['config.yaml:3:45 model_list.0.proxy_params.api_key: the environment variable NOPE is not set; set it, or write ${NOPE:-default}']],
  ['an unknown provider', model('model: gorq/x, api_key: k'), ['config.yaml:3 model_list.0.proxy_params.model: unknown provider `gorq`, did you mean `groq`?']],
  ['no key', model('model: groq/x'), ['config.yaml:3 model_list.0.proxy_params: no key: give `api_key`, or set GROQ_API_KEY']],
  ['an unknown fallback', model('model: groq/x, api_key: k', 'router_settings: { fallbacks: [{ m: [n] }] }\n'), ['config.yaml:4 router_settings.fallbacks.0.m: no model is named `n`, did you mean `m`?']],
]
for (const [name, text, expected] of mistakes)
  test(`${name} is named with line and column`, () => {
    expect(read(text).mistakes).toEqual(expected)
  })

test('several mistakes are named at once, in order; broken YAML by its place', () => {
  expect(read('a: 1\nb: 2\n').mistakes.length).toBe(2)
  expect(read('model_list: [\n').mistakes[0]).toMatch(/^config\.yaml:\d+:\d+ /)
})

test('the peer\'s names are read, what is not supported yet is a warning', () => {
  const { settings, mistakes: none } = read(
    'model_list:\n  - model_name: m\n    litellm_params: { model: groq/x, api_key: "${K:-fallback}", rpm: 5 }\nlitellm_settings: { drop_params: false, callbacks: [x] }\n',
  )
  expect(none).toEqual([])
  const deployment = settings!.deployments[0]!
  expect([deployment.target.apiKey!.reveal(), deployment.dropParams, String(deployment.target.apiKey)]).toEqual(['fallback', false, '[redacted]'])
  expect(settings!.warnings.filter(one => one.includes('not supported yet')).length).toBe(2)
})

test('prices are exact, unknown ones are null and warned about', () => {
  const priced = read(model('model: groq/x, api_key: k, input_cost_per_token: 3e-06, output_cost_per_token: 0.000015')).settings!
  expect(priced.deployments[0]!.prices).toEqual({ input: 3_000_000_000n, output: 15_000_000_000n })
  const unknown = read(model('model: custom_openai/x, api_base: "http://h/v1"')).settings!
  expect(unknown.deployments[0]!.prices).toBeNull()
  expect(unknown.warnings[0]).toContain('price of m is not known')
})

test('without a file the keys of the environment and the local models are offered', () => {
  const { settings } = readSettings({ environment: { GROQ_API_KEY: 'k' }, providers })
  expect(settings!.deployments.map(one => one.modelName)).toEqual(['groq/*', ...localModels.map(one => one.modelName)])
})
