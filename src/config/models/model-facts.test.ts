import { expect, test } from 'bun:test'
import { capabilitiesOf } from './capabilities.ts'
import type { Deployment } from '../../core/deployment.ts'
import { concreteModel, modelFacts, tokenLimits } from './model-facts.ts'

const facts = (provider: string, model: string, declared = {}) =>
  modelFacts({ modelName: 'public', model, provider }, declared)

test('limits, modalities and abilities of a known model', () => {
  const { info, mode, priceSource } = facts('openai', 'gpt-4o')
  expect(info).toMatchObject({
    context_window: 128_000,
    max_input_tokens: 128_000,
    max_output_tokens: 16_384,
    supports_vision: true,
    supports_function_calling: true,
    supports_response_schema: true,
    supports_reasoning: false,
    supports_audio_input: false,
    supported_modalities: ['text', 'image'],
    supported_output_modalities: ['text'],
  })
  expect([mode, priceSource]).toEqual(['chat', 'catalogue'])
  expect(facts('bedrock', 'us.anthropic.claude-sonnet-4-5-20250929-v1:0').info).toMatchObject({
    max_output_tokens: 64_000,
    supports_reasoning: true,
    supports_pdf_input: true,
  })
  expect(facts('gemini', 'gemini-2.5-flash').info).toMatchObject({
    supported_modalities: ['text', 'image', 'audio', 'video'],
    max_output_tokens: 65_536,
  })
})

test("the input limit is the vendor's where it differs from the context window", () => {
  expect(facts('openai', 'gpt-5-mini').info).toMatchObject({
    context_window: 400_000,
    max_input_tokens: 272_000,
    max_output_tokens: 128_000,
  })
  expect(facts('openai', 'gpt-6-sol').info).toMatchObject({ context_window: 1_050_000, max_input_tokens: 922_000 })
})

test('unknown is null, never false', () => {
  const { info, prices, priceSource } = facts('custom_openai', 'own-model')
  expect(info).toMatchObject({
    max_input_tokens: null,
    max_output_tokens: null,
    supports_vision: null,
    supports_reasoning: null,
    supported_modalities: null,
  })
  expect([prices, priceSource]).toEqual([null, 'unknown'])
})

test('declarations have precedence, item by item; null too', () => {
  const { info } = facts('openai', 'gpt-4o', {
    supports_vision: false,
    max_output_tokens: 5,
    supports_reasoning: null,
    display_name: 'x',
  })
  expect(info).toMatchObject({
    supports_vision: false,
    max_output_tokens: 5,
    supports_reasoning: null,
    display_name: 'x',
    supported_modalities: ['text'],
    max_input_tokens: 128_000,
  })
  expect(facts('openai', 'gpt-4o', { supported_modalities: ['text'] }).info.supported_modalities).toEqual(['text'])
  expect(facts('azure', 'my-deployment', { base_model: 'gpt-4o' })).toMatchObject({
    priceSource: 'catalogue',
    info: { max_output_tokens: 16_384 },
  })
})

test('a guessed mode does not refuse calls: the info only has a declared one', () => {
  const embedding = facts('openai', 'text-embedding-3-small')
  expect([embedding.mode, embedding.info.mode, embedding.info.output_vector_size]).toEqual([
    'embedding',
    undefined,
    1536,
  ])
  expect(facts('openai', 'text-embedding-3-small', { mode: 'chat' }).info.mode).toBe('chat')
  const modes = [
    'whisper-1',
    'gpt-4o-mini-tts',
    'gpt-image-1',
    'omni-moderation-latest',
    'gpt-4o-transcribe',
    'rerank-v3.5',
    'jina-reranker-v2',
    'o3',
  ].map(name => facts('openai', name).mode)
  expect(modes).toEqual([
    'audio_transcription',
    'audio_speech',
    'image_generation',
    'moderation',
    'audio_transcription',
    'rerank',
    'rerank',
    'chat',
  ])
  expect(facts('openai', 'whisper-1').info).toMatchObject({
    supported_modalities: ['audio'],
    supported_output_modalities: ['text'],
  })
})

test('schemas are checked unless the provider guarantees them or the operator declares support', () => {
  const judged = (provider: string, declared: object = {}) => facts(provider, 'x', declared).validatesSchemas
  expect(['openai', 'anthropic', 'vertex_ai', 'mistral'].map(name => judged(name))).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ])
  expect(['hosted_vllm', 'custom_openai', 'ollama', 'openrouter', 'bedrock'].map(name => judged(name))).toEqual([
    true,
    true,
    true,
    true,
    true,
  ])
  expect(
    (['native', 'json_object', 'none'] as const).map(word => judged('hosted_vllm', { structured_output: word })),
  ).toEqual([undefined, undefined, undefined])
  expect(facts('hosted_vllm', '*').validatesSchemas).toBe(true)
})

test('for a pattern only declarations count', () => {
  expect(facts('openai', '*')).toMatchObject({ prices: null, priceSource: 'unknown', info: {} })
  expect(facts('openai', '*').info).toEqual({})
})

test('families are matched by whole words', () => {
  const flag = (model: string) => capabilitiesOf(model).supports_reasoning
  expect(
    [
      'gpt-5',
      'openai/gpt-5.1-codex',
      'gpt-5-chat-latest',
      'o1',
      'o3-mini',
      'o1000-other',
      'my-gpt-5',
      'claude-3-5-sonnet-20241022',
      'Claude-Opus-5-5',
      'claude-fable-5-1',
      'grok-4-fast-non-reasoning',
      'grok-4-fast',
    ].map(flag),
  ).toEqual([true, true, false, true, true, undefined, undefined, false, true, true, false, true])
  expect(capabilitiesOf('claude-opus-4-20250514').max_output_tokens).toBe(32_000)
  expect(capabilitiesOf('claude-opus-4-5-20251101').max_output_tokens).toBe(64_000)
  expect(capabilitiesOf('claude-opus-4-8').max_output_tokens).toBe(128_000)
})

test("providers know the limits of their target's model, also behind a pattern", () => {
  const limits = (provider: string, model: string, declared = {}) => tokenLimits(facts(provider, model, declared).info)
  expect(limits('anthropic', 'claude-3-5-sonnet-20241022')).toEqual({ output: 8192, context: 200_000 })
  expect(limits('anthropic', 'claude-opus-4-7')).toMatchObject({ output: 128_000 })
  expect(limits('bedrock', 'us.anthropic.claude-sonnet-4-5-20250929-v1:0')).toMatchObject({ output: 64_000 })
  expect(limits('anthropic', 'claude-opus-4-7', { max_output_tokens: 1000 })).toMatchObject({ output: 1000 })
  expect(limits('hosted_vllm', 'something-else')).toEqual({})
  const target = { provider: { name: 'anthropic' }, model: '*', options: {} }
  const pattern = { target, info: {} } as unknown as Deployment
  expect(concreteModel(pattern, 'x', 'claude-sonnet-4-20250514').target.limits).toMatchObject({ output: 64_000 })
})
