/**
 * Reports of teams and tags with very many keys and models: totals are exact, what is not shown for itself is `other`.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { foldSums } from '../../src/store/ledger/sums/fold-sums.ts'
import { openLedgerDatabase } from '../../src/store/ledger/ledger-database.ts'
import { exampleRow, makePlace, rankDay } from '../../src/store/ledger/ledger-fixture.ts'
import { decodeRecord, encodeSettlement } from '../../src/store/ledger/journal/ledger-record.ts'
import { backends, masterKey, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'

type Json = Record<string, any>

const [keys, models] = [230, 45]
const nowMs = Date.now()
/** The later a key, the dearer: the last twenty are shown. */
const nanoUsdOf = (key: number, model: number) => 1_000_000 * (key + 1) + model
const rows = Array.from({ length: keys * models }, (_, at) => {
  const [key, model] = [at % keys, Math.floor(at / keys)]
  const record = decodeRecord(
    encodeSettlement(
      exampleRow({
        started_at_ms: nowMs - 1,
        key_id: `key-${key}`,
        user_id: `user-${key % 10}`,
        team_id: key === 0 ? 'other' : 'large',
        organization_id: 'organization',
        request_tags: ['many'],
        model: `model-${model}`,
        cost_nano_usd: String(nanoUsdOf(key, model)),
      }),
    ),
  )
  if (record?.kind !== 'settlement') throw new Error('a row is no settlement')
  return record.values
})
/** Of these keys, in nano-dollars. */
const spendOf = (from: number, to: number) => {
  let sum = 0
  for (let key = from; key < to; key++) for (let model = 0; model < models; model++) sum += nanoUsdOf(key, model)
  return sum
}

const nano = (part: Json): number => Math.round(part.metrics.spend * 1e9)
const sumOf = (parts: Json): [requests: number, nanoUsd: number] =>
  Object.values<Json>(parts).reduce<[number, number]>(
    ([requests, nanoUsd], one) => [requests + one.metrics.api_requests, nanoUsd + nano(one)],
    [0, 0],
  )

for (const backend of backends())
  describe(backend.name, () => {
    let gateway: Gateway
    let remove: () => Promise<unknown>
    beforeAll(async () => {
      const place = await makePlace(backend.name === 'SQLite' ? undefined : process.env.TEST_DATABASE_URL)
      const opened = await backend.open()
      remove = () => Promise.all([place.remove(), opened.close()])
      const database = await openLedgerDatabase(place.databaseUrl)
      for (let at = 0; at < rows.length; at += 900) await database.insert(rows.slice(at, at + 900))
      await foldSums(database)
      expect(await rankDay(database, nowMs, new Set())).toBe(true)
      await database.close()
      const open = async () => ({ ...opened, databaseUrl: place.databaseUrl, close: async () => undefined })
      gateway = await startGateway({ backend: { ...backend, open } })
    })
    afterAll(async () => {
      await gateway.stop()
      await remove()
    })

    const day = async (path: string): Promise<{ day: Json; metadata: Json }> => {
      const response = await fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${masterKey}` } })
      expect(response.status).toBe(200)
      const { results, metadata } = (await response.json()) as Json
      expect(results).toHaveLength(1)
      return { day: results[0], metadata }
    }
    /** Every part has the calls and the spending of the whole, and so have the parts by key in each. */
    const expectExact = ({ metrics, breakdown }: Json) => {
      const whole = [metrics.api_requests, nano({ metrics })]
      const { mcp_servers: _, deployments, ...parts } = breakdown as Json
      // The sums of teams, organizations and tags know no deployments.
      expect(deployments).toEqual({})
      for (const [name, part] of Object.entries<Json>(parts)) expect([name, ...sumOf(part)]).toEqual([name, ...whole])
      for (const name of ['models', 'model_groups', 'providers', 'endpoints', 'entities'])
        for (const one of Object.values<Json>(parts[name]))
          if (Object.keys(one.api_key_breakdown).length > 0)
            expect(sumOf(one.api_key_breakdown)).toEqual([one.metrics.api_requests, nano(one)])
    }

    test('a team: all models, the dearest keys, and the others in one line', async () => {
      const { day: large, metadata } = await day('/team/daily/activity?team_ids=large')
      expect(nano({ metrics: { spend: metadata.total_spend } })).toBe(spendOf(1, keys))
      expectExact(large)
      expect(Object.keys(large.breakdown.model_groups)).toHaveLength(models)
      expect(Object.keys(large.breakdown.entities)).toEqual(['large'])
      const named = Object.keys(large.breakdown.api_keys)
      expect(named.toSorted()).toEqual(
        [...Array.from({ length: 20 }, (_, at) => `key-${keys - 1 - at}`), 'other'].toSorted(),
      )
      expect(nano(large.breakdown.api_keys.other)).toBe(spendOf(1, keys - 20))
      expect(large.breakdown.api_keys.other.metadata).toEqual({ is_other: true })
      expect(metadata.breakdown_complete).toBe(false)
    })

    test('an organization and a tag', async () => {
      for (const path of [
        '/organization/daily/activity?organization_ids=organization',
        '/tag/daily/activity?tags=many',
        '/tag/daily/activity',
      ]) {
        const { day: one, metadata } = await day(path)
        expect(nano({ metrics: { spend: metadata.total_spend } })).toBe(spendOf(0, keys))
        expectExact(one)
      }
    })

    test('a team that is called other is not mistaken for the others', async () => {
      const { day: all } = await day('/team/daily/activity')
      expectExact(all)
      expect(nano(all.breakdown.entities.other)).toBe(spendOf(0, 1))
      expect(nano(all.breakdown.entities.large)).toBe(spendOf(1, keys))
    })

    test('the spending report lists the dearest, and the others so that it adds up', async () => {
      const report = async (query: string): Promise<Json[]> => {
        const response = await fetch(`${gateway.url}/global/spend/report?${query}`, {
          headers: { authorization: `Bearer ${masterKey}` },
        })
        expect(response.status).toBe(200)
        return (await response.json()) as Json[]
      }
      const nanoOf = (lines: Json[], field: string) => lines.reduce((sum, one) => sum + Math.round(one[field] * 1e9), 0)
      for (const query of ['team_id=large', 'group_by=team']) {
        const [ofDay] = await report(query)
        const spent = spendOf(query === 'group_by=team' ? 0 : 1, keys)
        expect(nanoOf(ofDay!.teams, 'total_spend')).toBe(spent)
        const lines = ofDay!.teams.flatMap((team: Json) => team.metadata)
        expect(nanoOf(lines, 'spend')).toBe(spent)
        expect(lines.length).toBeLessThan(3000)
        expect(lines.some((line: Json) => line.api_key === 'other')).toBe(true)
      }
      const byKey = await report('group_by=api_key')
      expect(nanoOf(byKey, 'total_cost')).toBe(spendOf(0, keys))
      expect(byKey.filter(one => one.api_key === 'other')).toHaveLength(1)
    })

    test('lists of spending in all and of a month have the dearest first', async () => {
      const list = async (path: string): Promise<Json> => {
        const response = await fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${masterKey}` } })
        expect(response.status).toBe(200)
        return (await response.json()) as Json
      }
      const dearest = Array.from({ length: 5 }, (_, at) => `key-${keys - 1 - at}`)
      for (const path of ['/spend/keys?limit=5', '/global/spend/keys?limit=5'])
        expect((await list(path)).map((one: Json) => one.token_id)).toEqual(dearest)
      const [first] = (await list('/spend/keys?limit=1')) as Json[]
      expect(Math.round(first!.spend * 1e9)).toBe(spendOf(keys - 1, keys))
      const [tag] = (await list('/spend/tags')) as Json[]
      expect([tag!.individual_request_tag, tag!.log_count]).toEqual(['many', rows.length])
      expect((await list('/spend/users')).map((one: Json) => one.user_id)[0]).toBe('user-9')
    })

    test('one key of a team, and a small one, are shown whole', async () => {
      for (const path of ['/team/daily/activity?team_ids=large&api_key=key-7', '/team/daily/activity?team_ids=other']) {
        const { day: one, metadata } = await day(path)
        expectExact(one)
        expect(metadata.breakdown_complete).toBe(true)
        expect(Object.keys(one.breakdown.api_keys)).toHaveLength(1)
      }
    })
  })
