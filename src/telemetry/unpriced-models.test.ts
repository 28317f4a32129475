import { expect, test } from 'bun:test'
import type { Deployment } from '../core/deployment.ts'
import type { Prices } from '../core/usage/prices.ts'
import { unpricedModels } from './unpriced-models.ts'

const deployment = (model: string, prices: Prices | null = null) =>
  ({ modelName: `any/${model}`, target: { model, provider: { name: 'openai' } }, prices }) as unknown as Deployment
const used = { inputTokens: 1, outputTokens: 1 }

test('a model without a price is logged once, and each tier of one that has other prices', () => {
  const lines: unknown[] = []
  const tell = unpricedModels({ warn: (_, fields) => void lines.push(fields) })
  for (let turn = 0; turn < 3; turn++) {
    tell(used, deployment('x'))
    tell({ ...used, served: { serviceTier: 'priority' } }, deployment('x'))
    tell({ ...used, served: { serviceTier: 'scale' } }, deployment('y', { input: 1n }))
  }
  expect(lines).toEqual([
    { model: 'any/x', upstream: 'openai/x', served_by: undefined },
    { model: 'any/y', upstream: 'openai/y', served_by: 'scale' },
  ])
})

test('names that clients make up do not fill the log', () => {
  let lines = 0
  const tell = unpricedModels({ warn: () => void lines++ })
  for (let at = 0; at < 3000; at++) tell(used, deployment(`made-up-${at}`))
  expect(lines).toBe(1000)
})
