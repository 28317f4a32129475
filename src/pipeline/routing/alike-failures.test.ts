import { expect, test } from 'bun:test'
import type { Deployment } from '../../core/deployment.ts'
import { GatewayError } from '../../core/errors.ts'
import { AlikeFailures } from './alike-failures.ts'

const deployment = (id: string) => ({ id, target: { model: 'm' } }) as Deployment
const [a, b, c] = ['a', 'b', 'c'].map(deployment) as [Deployment, Deployment, Deployment]
const failure = (message: string) => new GatewayError('upstream-failed', message)
const started = () => {
  const [alike, call] = [new AlikeFailures(), { sentMs: 0, settled: false }]
  return (one: Deployment, error: GatewayError) => alike.earlier(call, one, error).map(({ id }) => id)
}

test('deployments that failed in the same words are told, each once, and not the one itself', () => {
  const earlier = started()
  const error = failure('your schema has no root')
  expect([earlier(a, error), earlier(a, error), earlier(b, error), earlier(c, error)]).toEqual([
    [],
    [],
    ['a'],
    ['a', 'b'],
  ])
})

test('numbers and ids do not make words others, and other words begin anew', () => {
  const earlier = started()
  earlier(a, failure('Row 12 of 0a1b2c3d-44 is wrong'))
  expect(earlier(b, failure('row 9 of ffffffff is wrong'))).toEqual(['a'])
  expect(earlier(c, failure('your schema has no root'))).toEqual([])
  expect(earlier(a, failure('row 9 of ffffffff is wrong'))).toEqual([])
})

test('of two words, of what says no more than that it failed, and of other kinds nothing is told', () => {
  for (const message of [
    'is wrong',
    'the upstream failed',
    'an internal error has happened',
    'CUDA has no memory left',
  ])
    for (const at of [a, b]) expect(started()(at, failure(message))).toEqual([])
  const earlier = started()
  for (const message of ['is wrong', 'an unknown error came up', 'please try again'])
    expect([earlier(a, failure(message)), earlier(b, failure(message))]).toEqual([[], []])
  const other = new GatewayError('upstream-overloaded', 'your schema has no root')
  expect([earlier(a, other), earlier(b, other)]).toEqual([[], []])
  expect([earlier(a, failure('is very wrong')), earlier(b, failure('is very wrong'))]).toEqual([[], ['a']])
})

test('calls do not share their failures', () => {
  const alike = new AlikeFailures()
  const error = failure('your schema has no root')
  alike.earlier({ sentMs: 0, settled: false }, a, error)
  expect(alike.earlier({ sentMs: 0, settled: false }, b, error)).toEqual([])
})
