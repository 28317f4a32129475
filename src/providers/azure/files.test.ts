/** Where Azure keeps files and batches (learn.microsoft.com: "Getting started with Azure OpenAI batch deployments"). */
import { expect, test } from 'bun:test'
import type { Target } from '../../core/provider.ts'
import { Secret } from '../../lib/secret.ts'
import { targetOf } from '../../../tests/support/provider-rig.ts'
import { azure } from './index.ts'

const resource = 'https://my.openai.azure.com'
const target = (more: Partial<Target> = {}) =>
  targetOf(azure, { model: 'gpt-4o', baseUrl: resource, apiKey: new Secret('azure-key'), ...more })
const url = (more: Partial<Target> = {}) => azure.files!.head(target(more), '/files/file-1').url

test('files belong to the resource, not to the deployment in its address', () => {
  for (const baseUrl of [
    resource,
    `${resource}/openai`,
    `${resource}/openai/deployments/mine`,
    `${resource}/openai/deployments/mine/chat/completions`,
  ])
    expect(url({ baseUrl })).toBe(`${resource}/openai/files/file-1?api-version=2024-10-21`)
  expect(url({ options: { api_version: '2025-04-01-preview' } })).toBe(
    `${resource}/openai/files/file-1?api-version=2025-04-01-preview`,
  )
})

test('the v1 form', () => {
  expect(url({ baseUrl: `${resource}/openai/v1` })).toBe(`${resource}/openai/v1/files/file-1`)
  expect(url({ options: { api_version: 'latest' } })).toBe(`${resource}/openai/v1/files/file-1`)
  expect(url({ options: { api_version: 'preview' } })).toBe(`${resource}/openai/v1/files/file-1?api-version=preview`)
})

test('the key goes with it, and the lines name the deployment', () => {
  expect(azure.files!.head(target({ headers: { 'x-team': 'a' } }), '/batches').headers).toEqual({
    'api-key': 'azure-key',
    'x-team': 'a',
  })
  expect(azure.files!.modelName!(target())).toBe('gpt-4o')
  expect(azure.files!.modelName!(target({ baseUrl: `${resource}/openai/deployments/my%20one` }))).toBe('my one')
})
