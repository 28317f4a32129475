import { expect, test } from 'bun:test'
import { bareKey } from '../../core/caller.ts'
import type { Caller } from '../../core/caller.ts'
import { callerProblem } from '../caller.ts'
import { mayCall, unaliased } from './model-access.ts'

test('a call of a key with a user, a team and an organization is let through in less than a microsecond', () => {
  const place = (models: string[]) => ({ id: 'x', models, organizationId: null, modelAliases: {}, blocked: false })
  const caller = {
    role: 'internal_user',
    key: { ...bareKey, id: 'k', models: ['a', 'b/*'] },
    user: place(['a']),
    team: place(['a', 'c']),
    organization: place(['a']),
  } as unknown as Caller
  const settings = { accessGroups: {}, aliases: {} }
  const letThrough = (calls: number): number => {
    let count = 0
    for (let at = 0; at < calls; at++)
      if (callerProblem(caller, at) === undefined && mayCall(caller, unaliased(caller, 'a'), settings)) count++
    return count
  }
  const rounds = Array.from({ length: 5 }, () => {
    const started = performance.now()
    expect(letThrough(100_000)).toBe(100_000)
    return performance.now() - started
  })
  expect(Math.min(...rounds)).toBeLessThan(100)
})
