/** What the end of an attempt leaves behind of its deployment. */
import { expect, test } from 'bun:test'
import type { Call } from '../../core/call.ts'
import { GatewayError } from '../../core/errors.ts'
import type { FaultKind } from '../../core/errors.ts'
import { callPolicies } from '../admission/admission.ts'
import type { CallControl } from '../call-control.ts'
import { DeploymentAttempts } from './deployment-attempts.ts'

function ended(outcome: string, error?: GatewayError, deployment: object | null = { id: 'a' }) {
  const told: string[] = []
  const tell = (name: string) => () => void told.push(name)
  const records = {
    cooldowns: { completed: tell('completed'), failed: tell('failed'), released: tell('released') },
    notes: { failed: tell('noted') },
    stats: { used: tell('stats used'), ended: (_: unknown, kind?: FaultKind) => void told.push(`stats ${kind}`) },
    limits: { ended: tell('limits ended') },
  }
  const parts = {
    policies: callPolicies([]),
    countAttempt: (_: unknown, kind?: FaultKind) => void told.push(`counted ${kind}`),
  }
  const attempts = new DeploymentAttempts(parts as never, records as never)
  const call = {
    attempt: { deployment: deployment ?? undefined },
    models: { settings: { router: {} } },
  } as unknown as Call
  const control = { call, attempting: attempts } as unknown as CallControl
  attempts.ended(control, outcome as never, error)
  expect(control.attempting).toBeUndefined()
  return told.join(', ')
}

const broken = new GatewayError('upstream-broken', 'no')

test('a complete stream is a success', () => {
  expect(ended('success')).toBe('limits ended, stats used, completed, stats undefined, counted undefined')
})

test("a stream that was cut counts as the deployment's failure, unless it is the request's", () => {
  expect(ended('upstream_cut', broken)).toBe(
    'limits ended, stats used, failed, noted, stats upstream-broken, counted upstream-broken',
  )
  const filtered = new GatewayError('content-policy', 'no')
  expect(ended('upstream_cut', filtered)).toContain('used, released, stats content-policy')
})

test('a client that has left says nothing about the deployment', () => {
  expect(ended('client_closed', broken)).toContain('used, released, stats')
  expect(ended('upstream_cut')).toContain('used, released, stats')
})

test('without a deployment nothing is told', () => {
  expect(ended('success', undefined, null)).toBe('')
})
