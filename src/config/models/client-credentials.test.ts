import { expect, test } from 'bun:test'
import { providers } from '../../providers/index.ts'
import { readSettings } from '../read-settings.ts'

const read = (text: string, environment: Record<string, string> = {}) =>
  readSettings({ text, file: 'c.yaml', environment, providers })

/** By public name, what each entry takes. */
function taken(text: string, environment?: Record<string, string>): Record<string, string | undefined> {
  const { settings, mistakes } = read(text, environment)
  expect(mistakes).toEqual([])
  const listed = settings!.deployments.filter(one => one.origin.kind === 'config')
  return Object.fromEntries(listed.map(one => [one.modelName, one.clientCredentials]))
}

const entry = (name: string, params: string, section = 'proxy_params') =>
  `  - { model_name: "${name}", ${section}: { ${params} } }\n`
const claude = 'model: anthropic/claude-sonnet-4-5'
const mine = 'forward_client_credentials: [anthropic]'

test('a model takes those of its provider, and needs no key of its own then', () => {
  const text = `model_list:\n${entry('a', `${claude}, ${mine}`)}${entry('b', `${claude}, ${mine}, api_key: k`)}${entry('c', `${claude}, api_key: k`)}`
  expect(taken(text)).toEqual({ a: 'required', b: 'optional', c: undefined })
})

test('those of `settings` count at the own address of a provider alone, and a model may say otherwise', () => {
  const entries = [
    entry('own', `${claude}, api_key: k`),
    entry('elsewhere', `${claude}, api_key: k, api_base: "https://other.example/v1"`),
    entry('never', `${claude}, api_key: k, forward_client_credentials: []`),
    entry('other', 'model: groq/x, api_key: k'),
    entry('signed', 'model: bedrock/x, aws_region_name: us-east-1, api_key: k'),
  ]
  const settings = 'settings: { forward_client_credentials: [anthropic, openai, bedrock] }\n'
  expect(taken(`model_list:\n${entries.join('')}${settings}`)).toEqual({
    own: 'optional',
    elsewhere: undefined,
    never: undefined,
    other: undefined,
    signed: undefined,
  })
})

test('the slip in a name, another provider, and one whose calls are signed are mistakes', () => {
  const mistakesOf = (params: string) => read(`model_list:\n${entry('m', params)}`).mistakes.join()
  expect(mistakesOf(`${claude}, forward_client_credentials: [antropic]`)).toContain('`antropic` is no provider')
  const common = read(
    `model_list:\n${entry('m', `${claude}, api_key: k`)}settings: { forward_client_credentials: [antropic] }\n`,
  )
  expect(common.mistakes.join()).toContain('`antropic` is no provider')
  expect(mistakesOf(`${claude}, forward_client_credentials: [openai]`)).toContain('this model is of anthropic')
  const bedrock = 'model: bedrock/x, aws_region_name: us-east-1, forward_client_credentials: [bedrock]'
  expect(mistakesOf(bedrock)).toContain('are signed by the gateway')
})

test("LiteLLM's switches mean the same", () => {
  const list = `model_list:\n${entry('a', claude, 'litellm_params')}${entry('b', 'model: openai/gpt-4.1, api_key: k', 'litellm_params')}`
  for (const switches of [
    'general_settings: { forward_client_headers_to_llm_api: true }\n',
    'litellm_settings: { forward_llm_provider_auth_headers: true }\n',
    'litellm_settings: { forward_client_headers_to_llm_api: true }\ngeneral_settings: { forward_llm_provider_auth_headers: true }\n',
  ]) {
    expect(taken(list + switches)).toEqual({ a: 'required', b: 'optional' })
    expect(read(list + switches).settings!.warnings).toEqual([])
  }
  const group = 'litellm_settings: { model_group_settings: { forward_client_headers_to_llm_api: [a] } }\n'
  expect(taken(list + group)).toEqual({ a: 'required', b: undefined })
  const off = read(`${list}general_settings: { forward_client_headers_to_llm_api: false }\n`, {
    ANTHROPIC_API_KEY: 'k',
  })
  expect(off.settings!.deployments.map(one => one.clientCredentials).every(one => one === undefined)).toBe(true)
})
