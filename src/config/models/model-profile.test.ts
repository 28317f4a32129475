import { expect, test } from 'bun:test'
import { nativeProfile } from '../../core/deployment.ts'
import { modelProfile } from './model-profile.ts'
import type { DeclaredAbilities } from './model-profile.ts'

const by = (model: string, info: DeclaredAbilities = {}, provider = 'hosted_vllm') =>
  modelProfile(`org/${model}`, `org/${model}`, provider, info)

test('families that differ from the default', () => {
  for (const name of ['instruct-v4-27b-it', 'Gemma-SEA-LION-v4-27B-IT', 'x_V4_27B_Instruct'])
    expect(by(name)).toEqual({ ...nativeProfile, toolCalling: 'forced-only', alternateRoles: true })
  for (const name of ['reasoning-v3.5-70b-R', 'Llama-SEA-LION-v3.5-8B-R'])
    expect(by(name)).toEqual({ ...nativeProfile, toolCalling: 'after-think', thinking: 'tags' })
  for (const name of ['guard', 'SEA-Guard', 'Llama-SEA-Guard-Prompt-v1', 'safety-guard'])
    expect(by(name)).toEqual({ ...nativeProfile, toolCalling: 'none', guard: true })
})

test('everything else is native, the identical object that the forward lane compares with', () => {
  const names = [
    'instruct-v3-70b-it',
    'instruct-v4.5-27b-it',
    'Qwen-SEA-LION-v4-32B-IT',
    'deepseek-v4-27b',
    'v14-27b-it',
    'command-r',
    'command-R',
    'deepseek-r1',
    'llama-3.1-70b-R',
    'reasoning-v3.5-70b-r',
    'gpt-oss-safeguard-20b',
    'granite-guardian-3',
    'Llama-Guard-3-8B',
    'llama_guard',
    'bodyguard',
    '*',
    '',
  ]
  for (const name of names) expect([name, by(name)]).toEqual([name, nativeProfile])
  for (const name of names) expect(by(name)).toBe(nativeProfile)
  expect(by('instruct-v4-27b-it', {}, 'openai')).toBe(nativeProfile)
})

test('declarations have precedence, item by item', () => {
  expect(by('instruct-v4-27b-it', { tool_calling: 'native', alternate_roles: false })).toBe(nativeProfile)
  expect(by('instruct-v4-27b-it', { tool_calling: 'auto', structured_output: 'json_object' })).toEqual({
    ...nativeProfile,
    toolCalling: 'forced-only',
    alternateRoles: true,
    structuredOutput: 'json-object',
  })
  expect(by('gpt', { tool_calling: 'after_think', thinking: 'tags_open' }, 'openai')).toEqual({
    ...nativeProfile,
    toolCalling: 'after-think',
    thinking: 'tags-open',
  })
  expect(by('Llama-Guard-3-8B', { guard: true })).toEqual({ ...nativeProfile, guard: true, toolCalling: 'none' })
  expect(by('SEA-Guard', { guard: false })).toBe(nativeProfile)
  expect(modelProfile('acme/guard', 'internal-7', 'custom_openai', {}).guard).toBe(true)
})
