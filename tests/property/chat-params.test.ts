/** What is listed as supported by each provider's chat, against what its translation does with a client's field. */
import { describe, expect, test } from 'bun:test'
import { nativeProfile } from '../../src/core/deployment.ts'
import type { Deployment } from '../../src/core/deployment.ts'
import { GatewayError } from '../../src/core/errors.ts'
import { supportedParams } from '../../src/core/hub/params.ts'
import type { Target, TranslatedCall } from '../../src/core/provider.ts'
import { openaiChat } from '../../src/formats/index.ts'
import { JsonBody } from '../../src/lib/json/json-body.ts'
import { providers } from '../../src/providers/index.ts'
import { targetOf } from '../support/provider-rig.ts'

type Json = Record<string, unknown>

const tools = [
  {
    type: 'function',
    function: {
      name: 'get_weather',
      description: 'x',
      parameters: { type: 'object', properties: { city: { type: 'string' } } },
    },
  },
]
const functions = [tools[0]!.function]
const schema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false }

interface Probe {
  /** Each is a wish on its own; taking one of them is enough. */
  readonly values: readonly unknown[]
  /** What the wish needs beside it. */
  readonly beside?: Json
}

const plain = (...values: unknown[]): Probe => ({ values })
const withTools = (...values: unknown[]): Probe => ({ values, beside: { tools } })

/** One for each field that a client of chat completions may send and a provider may take. */
const probes: Readonly<Record<string, Probe>> = {
  max_tokens: plain(2048),
  max_completion_tokens: plain(2048),
  temperature: plain(0.3),
  top_p: plain(0.4),
  top_k: plain(7),
  n: plain(2),
  stop: plain(['END']),
  seed: plain(11),
  frequency_penalty: plain(0.5),
  presence_penalty: plain(0.5),
  logit_bias: plain({ 5: 1 }),
  logprobs: plain(true),
  top_logprobs: { values: [2], beside: { logprobs: true } },
  tools: plain(tools),
  functions: plain(functions),
  tool_choice: withTools('required', { type: 'function', function: { name: 'get_weather' } }),
  function_call: { values: [{ name: 'get_weather' }], beside: { functions } },
  parallel_tool_calls: withTools(false),
  response_format: plain({ type: 'json_object' }, { type: 'json_schema', json_schema: { name: 'x', schema } }),
  reasoning_effort: plain('high', 'low'),
  thinking: plain({ type: 'enabled', budget_tokens: 1500 }),
  user: plain('ada'),
  metadata: plain({ a: 'b' }),
  service_tier: plain('default', 'flex', 'priority'),
  modalities: plain(['text', 'image']),
  audio: { values: [{ voice: 'Kore', format: 'pcm16' }], beside: { modalities: ['audio'] } },
  prediction: plain({ type: 'content', content: 'x' }),
  store: plain(true),
  verbosity: plain('low'),
  web_search_options: plain({}),
  prompt_cache_key: plain('k'),
  safety_identifier: plain('u'),
  safety_settings: plain([{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }]),
  cached_content: plain('cachedContents/1'),
}
/** Always there; a stream's report of usage is the gateway's own work, and not the upstream's word. */
const always = ['messages', 'model', 'stream', 'stream_options']

const google = { vertex_project: 'p', vertex_location: 'us-central1' }
const aws = { aws_region_name: 'us-east-1' }

/** Models of each provider that together can all that the provider can, and what its address needs. */
const models: Readonly<Record<string, readonly Partial<Target>[]>> = {
  anthropic: [{ model: 'claude-sonnet-4-5' }, { model: 'claude-opus-4-7' }],
  bedrock: [
    { model: 'anthropic.claude-sonnet-4-5-20250929-v1:0', options: aws },
    { model: 'amazon.nova-pro-v1:0', options: aws },
    { model: 'meta.llama3-3-70b-instruct-v1:0', options: aws },
  ],
  gemini: [{ model: 'gemini-2.0-flash' }, { model: 'gemini-2.5-flash' }, { model: 'gemini-3-pro-preview' }],
  vertex_ai: [
    { model: 'gemini-2.5-flash', options: google },
    { model: 'claude-sonnet-4-5@20250929', options: google },
  ],
  mistral: [{ model: 'mistral-large-latest' }, { model: 'magistral-medium-latest' }],
  cohere: [{ model: 'command-a-reasoning-08-2025' }],
  ollama: [{ model: 'llama3.2' }, { model: 'gpt-oss:20b' }],
  azure: [{ baseUrl: 'https://name.openai.azure.com' }],
  azure_ai: [{ baseUrl: 'https://name.services.ai.azure.com' }],
}

const asked = { messages: [{ role: 'user', content: 'Hello!' }] }

function translated(target: Target, fields: Json): TranslatedCall {
  const read = JsonBody.read(Buffer.from(JSON.stringify({ model: 'public', ...asked, ...fields })))
  expect({ fields, problems: openaiChat.inspect(read).problems }).toEqual({ fields, problems: [] })
  return target.provider.chat!.request(openaiChat.decode(read), target)
}

/** By which a loss may also be reported. */
const otherNames: Readonly<Record<string, readonly string[]>> = {
  functions: ['tools'],
  function_call: ['tool_choice'],
  thinking: ['reasoning', 'reasoning_effort'],
  reasoning_effort: ['reasoning', 'thinking'],
}

type Outcome = 'taken' | 'changed' | 'dropped' | 'refused' | 'silently lost'

/** `taken` = it changes what is sent, and nothing of it is reported; `changed` = it is sent otherwise, and reported. */
function outcome(target: Target, name: string, { values, beside = {} }: Probe): Outcome {
  const without = translated(target, beside)
  const outcomes = values.map(value => {
    try {
      const call = translated(target, { ...beside, [name]: value })
      const lost = call.dropped.filter(one => !without.dropped.includes(one))
      const isSame = JSON.stringify(call.body) === JSON.stringify(without.body)
      if (lost.some(one => [name, ...(otherNames[name] ?? [])].includes(one.split('.')[0]!)))
        return isSame ? 'dropped' : 'changed'
      return isSame ? 'silently lost' : 'taken'
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      return 'refused'
    }
  })
  return outcomes.find(one => one === 'taken') ?? outcomes.find(one => one === 'silently lost') ?? outcomes[0]!
}

/** What is listed for one model. */
const listed = (target: Target): string[] =>
  supportedParams([{ target, profile: nativeProfile, info: {} } as unknown as Deployment])

const translators = [...providers.values()].filter(one => one.chat)

describe.each(translators.map(one => one.name))('%s', name => {
  const provider = providers.get(name)!
  const { chatExtras: extras = [] } = provider
  const targets = (models[name] ?? [{}]).map(more => targetOf(provider, more))
  const outcomes = new Map(
    Object.entries(probes).map(([param, probe]) => [param, targets.map(target => outcome(target, param, probe))]),
  )
  const outcomesOf = (param: string): readonly Outcome[] => outcomes.get(param) ?? []

  const lists = targets.map(listed)

  test('what is listed for a model is carried upstream', () => {
    lists.forEach((params, at) => {
      const wrong = params.filter(
        param => !always.includes(param) && !['taken', 'changed'].includes(outcomesOf(param)[at]!),
      )
      // Image and audio fields are listed for all models of a vendor, and taken by some.
      const ofSome = wrong.filter(param => extras.includes(param) && outcomesOf(param).includes('taken'))
      expect(wrong.filter(param => !ofSome.includes(param))).toEqual([])
      expect(always.filter(param => !params.includes(param))).toEqual([])
      expect(new Set(params).size).toBe(params.length)
    })
  })

  test('what is not listed is reported as dropped, or refused', () => {
    // A host whose bytes are forwarded, or in whose dialect they are written, checks fields that are unknown here.
    if (provider.speaks['openai-chat']) return
    const judgedThere = name === 'mistral' ? ['safety_settings', 'cached_content'] : []
    lists.forEach((params, at) => {
      const others = Object.keys(probes).filter(param => !params.includes(param) && !judgedThere.includes(param))
      const wrong = (param: string) => ['taken', 'silently lost'].includes(outcomesOf(param)[at]!)
      expect(others.filter(wrong).map(param => `${param}: ${outcomesOf(param).join()}`)).toEqual([])
    })
  })

  test('no model loses a listed field in silence', () => {
    expect(lists.flat().filter(param => outcomesOf(param).includes('silently lost'))).toEqual([])
  })
})

test('nothing is listed for a host without chat', () => {
  const without = [...providers.values()].filter(one => !one.chat)
  expect(without.length).toBeGreaterThan(0)
  expect(without.map(one => listed(targetOf(one)))).toEqual(without.map(() => []))
})

describe('local', () => {
  const local = providers.get('local')!
  const answer = (fields: Json) => {
    const { pieces } = local.answer!(
      { url: 'local:chat', headers: {} },
      {
        model: 'simulated-chat',
        messages: [{ role: 'user', content: 'one two three four get_weather END five' }],
        ...fields,
      },
    )
    return pieces.join('')
  }

  test('what is listed changes its answer', () => {
    // Fields that only mean something beside others, or under their newer name.
    const beside: Readonly<Record<string, Json>> = {
      tool_choice: { tools },
      function_call: { functions },
      top_logprobs: { logprobs: true },
    }
    const values: Json = {
      max_tokens: 2,
      max_completion_tokens: 2,
      n: 2,
      response_format: { type: 'json_object' },
      seed: 5,
      stop: ['END'],
      tools,
      tool_choice: 'none',
      functions,
      function_call: 'none',
      logprobs: true,
      top_logprobs: 2,
    }
    // It makes one call at most, so that neither value of `parallel_tool_calls` could be disobeyed.
    for (const param of listed(targetOf(local)).filter(one => ![...always, 'parallel_tool_calls'].includes(one)))
      expect([param, answer({ ...beside[param], [param]: values[param] }) === answer(beside[param] ?? {})]).toEqual([
        param,
        false,
      ])
  })
})
