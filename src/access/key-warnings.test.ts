import { expect, test } from 'bun:test'
import type { Deployment } from '../core/deployment.ts'
import type { Settings } from '../core/settings.ts'
import { modelWarnings } from './key-warnings.ts'
import { ModelIndex } from './models/model-index.ts'

const deployments = ['gpt-5', 'claude-sonnet', 'groq/*'].map(
  modelName => ({ id: `id-${modelName}`, modelName, target: { model: '*', provider: { name: 'groq' } } }) as Deployment,
)
const settings = { deployments, aliases: { fast: 'gpt-5' }, accessGroups: { team: ['gpt-5'] } } as unknown as Settings
const index = new ModelIndex(settings, pattern => pattern)

test('names that stand for nothing are said, with what was probably meant', () => {
  const known = [
    'gpt-5',
    'fast',
    'team',
    'groq/llama',
    'groq/*',
    'gpt*',
    '*',
    'groq/llama-*',
    'all-proxy-models',
    'id-gpt-5',
  ]
  expect(modelWarnings(known, index)).toEqual([])
  expect(modelWarnings(['claude-sonet', 'gpt-5', 'mistral/*', 'quite another'], index)).toEqual([
    'models: no model is named `claude-sonet`, did you mean `claude-sonnet`?',
    'models: no model fits the pattern `mistral/*`',
    'models: no model is named `quite another`; GET /v1/models lists them',
  ])
  expect(
    modelWarnings(
      Array.from({ length: 100 }, (_, at) => `no-${at}`),
      index,
    ),
  ).toHaveLength(20)
})
