import { expect, test } from 'bun:test'
import { providers } from '../../providers/index.ts'
import { targetOf } from '../../../tests/support/provider-rig.ts'
import { nativeProfile } from '../deployment.ts'
import type { Deployment, ModelProfile } from '../deployment.ts'
import { GatewayError } from '../errors.ts'
import type { Target } from '../provider.ts'
import { supportedParams } from './params.ts'

interface Wanted {
  readonly provider?: string
  readonly profile?: Partial<ModelProfile>
  readonly info?: Record<string, unknown>
  readonly target?: Partial<Target>
}

function deployment({ provider = 'openai', profile = {}, info = {}, target = {} }: Wanted): Deployment {
  return {
    target: targetOf(providers.get(provider)!, target),
    profile: { ...nativeProfile, ...profile },
    info,
  } as unknown as Deployment
}

const params = (...wanted: Wanted[]) => supportedParams(wanted.map(deployment))
const toolParams = ['tools', 'tool_choice', 'parallel_tool_calls', 'functions', 'function_call']
const lost = (less: readonly string[], more: readonly string[]) => more.filter(param => !less.includes(param))

test('what the provider takes, where nothing else is known', () => {
  const plain =
    'messages model tools tool_choice parallel_tool_calls functions function_call max_tokens max_completion_tokens ' +
    'seed n stop stream stream_options temperature top_p frequency_penalty presence_penalty logit_bias user metadata ' +
    'logprobs top_logprobs response_format service_tier reasoning_effort'
  const newest = 'modalities audio prediction store verbosity web_search_options prompt_cache_key safety_identifier'
  expect(params({})).toEqual(`${plain} ${newest}`.split(' '))
  expect(params({ provider: 'nebius' })).toEqual([...plain.split(' '), 'top_k'])
  const refused = ['n', 'logit_bias', 'metadata', 'logprobs', 'top_logprobs', 'reasoning_effort']
  expect(params({ provider: 'groq' })).toEqual(plain.split(' ').filter(name => !refused.includes(name)))
  expect(params()).toEqual([])
})

test('models of one provider differ', () => {
  const bedrock = (model: string) =>
    params({ provider: 'bedrock', target: { model, options: { aws_region_name: 'us-east-1' } } })
  const [claude, llama] = [
    bedrock('anthropic.claude-sonnet-4-5-20250929-v1:0'),
    bedrock('meta.llama3-3-70b-instruct-v1:0'),
  ]
  expect(lost(llama, claude)).toEqual([
    'tool_choice',
    'parallel_tool_calls',
    'function_call',
    'reasoning_effort',
    'top_k',
    'thinking',
  ])
  const vertex = (model: string) =>
    params({
      provider: 'vertex_ai',
      target: { model, options: { vertex_project: 'p', vertex_location: 'us-central1' } },
    })
  expect(lost(vertex('claude-sonnet-4-5'), vertex('gemini-2.5-flash'))).toContain('seed')
  expect(lost(vertex('gemini-2.5-flash'), vertex('claude-sonnet-4-5'))).toEqual(['parallel_tool_calls', 'user'])
  const gemini = (model: string) => params({ provider: 'gemini', target: { model } })
  expect(lost(gemini('gemini-2.0-flash'), gemini('gemini-2.5-flash'))).toEqual(['reasoning_effort', 'thinking'])
})

test('abilities that the model lacks take their fields away', () => {
  const all = params({})
  expect(lost(params({ profile: { toolCalling: 'none' } }), all)).toEqual(all.filter(one => toolParams.includes(one)))
  expect(lost(params({ info: { supports_function_calling: false } }), all)).toEqual(
    all.filter(one => toolParams.includes(one)),
  )
  expect(lost(params({ info: { supports_reasoning: false, supports_parallel_function_calling: false } }), all)).toEqual(
    ['parallel_tool_calls', 'reasoning_effort'],
  )
  // Not known is not the same as no.
  expect(params({ info: { supports_function_calling: null, supports_reasoning: true } })).toEqual(all)
  expect(params({ profile: { guard: true, toolCalling: 'none' } })).toEqual([
    'messages',
    'model',
    'max_tokens',
    'max_completion_tokens',
    'seed',
    'stream',
    'stream_options',
    'temperature',
    'user',
    'metadata',
  ])
})

test('what the gateway plays for the model counts as taken', () => {
  const ollama = (profile: Partial<ModelProfile>, info = {}) => params({ provider: 'ollama', profile, info })
  expect(lost(ollama({}), ollama({ toolCalling: 'prompted' }))).toEqual([
    'tool_choice',
    'parallel_tool_calls',
    'function_call',
  ])
  expect(ollama({ toolCalling: 'prompted' }, { supports_function_calling: false })).toContain('tools')
  const provider = { ...providers.get('ollama')!, chat: { ...providers.get('ollama')!.chat!, request: refuse } }
  expect([
    params({ target: { provider } }),
    params({ target: { provider }, profile: { structuredOutput: 'none' } }),
  ]).toEqual([
    ['messages', 'model', 'stream', 'stream_options'],
    ['messages', 'model', 'stream', 'stream_options', 'response_format'],
  ])
})

function refuse(): never {
  throw new GatewayError('invalid-request', 'refused')
}

test('of several deployments: what any of them takes that may answer', () => {
  const both = params({}, { provider: 'anthropic', target: { model: 'claude-sonnet-4-5' } })
  expect(both).toContain('tools')
  for (const param of ['seed', 'n', 'top_k', 'prediction']) expect(both).not.toContain(param)
})
