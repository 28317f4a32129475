/** How many keys a user may have, and what may stand in a key's fields, through the API. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { backends, standardConfig, startGateway } from '../../tests/e2e/harness.ts'
import type { Gateway } from '../../tests/e2e/harness.ts'

for (const backend of backends())
  describe(`keys on ${backend.name}`, () => {
    let gateway: Gateway

    beforeAll(async () => {
      gateway = await startGateway({ backend, config: `${standardConfig}general_settings: { max_keys_per_user: 3 }\n` })
    })
    afterAll(() => gateway?.stop())

    const statuses = (responses: readonly Response[]) => responses.map(one => one.status).sort()

    test('of 30 creations at once as many succeed as the user may have; the others say why', async () => {
      const answers = await Promise.all(Array.from({ length: 30 }, () => gateway.admin('/key/generate', { user_id: 'crowd' })))
      expect(statuses(answers)).toEqual([...Array<number>(3).fill(200), ...Array<number>(27).fill(409)])
      const refused = answers.find(one => one.status === 409)!
      const { error } = (await refused.json()) as { error: { message: string; param: string } }
      expect(error.message).toContain('already has 3 key(s), the limit; delete one first')
      expect(error.param).toBe('user_id')
      const list = (await (await gateway.admin('/key/list?user_id=crowd')).json()) as { total_count: number }
      expect(list.total_count).toBe(3)
      expect((await gateway.admin('/key/generate', { user_id: 'other' })).status).toBe(200)
      expect((await gateway.admin('/key/generate', {})).status).toBe(200)
    })

    test('a key cannot be moved past the limit, and a deleted one makes room', async () => {
      const keys = await Promise.all(Array.from({ length: 3 }, () => gateway.key({ user_id: 'full' })))
      const homeless = await gateway.key()
      expect((await gateway.admin('/key/update', { key: homeless, user_id: 'full' })).status).toBe(409)
      expect((await gateway.admin('/key/update', { key: keys[0], user_id: 'full', rpm_limit: 5 })).status).toBe(200)
      await gateway.admin('/key/delete', { keys: [keys[1]] })
      expect((await gateway.admin('/key/update', { key: homeless, user_id: 'full' })).status).toBe(200)
      expect((await gateway.admin('/key/generate', { user_id: 'full' })).status).toBe(409)
    })

    test('control characters are refused by name; a key named by them is simply not there', async () => {
      const refused = await gateway.admin('/key/generate', { key_alias: 'a\u0000b', user_id: 'line\nbreak', models: ['ok', '\u007f'] })
      expect(refused.status).toBe(422)
      const { detail } = (await refused.json()) as { detail: { loc: (string | number)[]; msg: string }[] }
      expect(detail.map(one => one.loc.slice(1).join('.')).sort()).toEqual(['key_alias', 'models.1', 'user_id'])
      expect(detail[0]!.msg).toContain('control characters')
      expect((await gateway.admin('/key/info?key=%00')).status).toBe(404)
      expect((await gateway.admin('/key/list?user_id=%00')).status).toBe(422)
      expect((await gateway.admin('/key/delete', { key_aliases: ['\u0000'] })).status).toBe(422)
    })
  })
