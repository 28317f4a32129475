/** How many keys a user may have, and what may stand in a key's fields, through the API. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { backends, masterKey, standardConfig, startGateway } from '../../../tests/e2e/harness.ts'
import type { Gateway } from '../../../tests/e2e/harness.ts'
import { until } from '../../../tests/support/until.ts'

for (const backend of backends())
  describe(`keys on ${backend.name}`, () => {
    let gateway: Gateway

    beforeAll(async () => {
      gateway = await startGateway({ backend, config: `${standardConfig}general_settings: { max_keys_per_user: 3 }\n` })
    })
    afterAll(() => gateway?.stop())

    const statuses = (responses: readonly Response[]) => responses.map(one => one.status).sort()

    test('of 30 creations at once as many succeed as the user may have; the others say why', async () => {
      const answers = await Promise.all(
        Array.from({ length: 30 }, () => gateway.admin('/key/generate', { user_id: 'crowd' })),
      )
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

    test('models that do not exist and an alias that is taken are said, and the key is made', async () => {
      const asked = async (path: string, fields: object) => {
        const answer = await gateway.admin(path, fields)
        return [answer.status, ((await answer.json()) as { warnings?: string[] }).warnings]
      }
      const twice = ['key_alias: another key has the alias `pair` too; /key/delete by this alias is refused then']
      const unknown = ['models: no model is named `chat-modl`, did you mean `chat-model`?']
      expect(await asked('/key/generate', { key_alias: 'pair', models: ['chat-model'] })).toEqual([200, undefined])
      expect(await asked('/key/generate', { key_alias: 'pair' })).toEqual([200, twice])
      expect(await asked('/key/generate', { models: ['chat-model', 'chat-modl'] })).toEqual([200, unknown])
      const key = await gateway.key({ key_alias: 'single' })
      expect(await asked('/key/update', { key, key_alias: 'single', rpm_limit: 3 })).toEqual([200, undefined])
      expect(await asked('/key/update', { key, key_alias: 'pair', models: ['chat-modl'] })).toEqual([
        200,
        [...unknown, ...twice],
      ])
      expect(await asked('/key/update', { key, rpm_limit: 4 })).toEqual([200, undefined])
    })

    test('a team or an organization that is not there is refused with its field, and a user who is not there is said', async () => {
      const key = await gateway.key()
      for (const field of ['team_id', 'organization_id'])
        for (const [path, body] of [
          ['/key/generate', {}],
          ['/key/update', { key }],
          ['/key/regenerate', { key }],
        ] as const) {
          const answer = await gateway.admin(path, { ...body, [field]: 'nowhere' })
          const { error } = (await answer.json()) as { error: { param: string } }
          expect([path, answer.status, error.param]).toEqual([path, 404, field])
        }
      expect(((await (await gateway.admin(`/key/info?key=${key}`)).json()) as { key: string }).key).toBeDefined()
      const made = (await (await gateway.admin('/key/generate', { user_id: 'unmade' })).json()) as {
        warnings: string[]
      }
      expect(made.warnings).toEqual([expect.stringContaining('user_id: there is no user `unmade`')])
    })

    test('control characters are refused by name; a key named by them is simply not there', async () => {
      const refused = await gateway.admin('/key/generate', {
        key_alias: 'a\u0000b',
        user_id: 'line\nbreak',
        models: ['ok', '\u007f'],
      })
      expect(refused.status).toBe(422)
      const { detail } = (await refused.json()) as { detail: { loc: (string | number)[]; msg: string }[] }
      expect(detail.map(one => one.loc.slice(1).join('.')).sort()).toEqual(['key_alias', 'models.1', 'user_id'])
      expect(detail[0]!.msg).toContain('control characters')
      expect((await gateway.admin('/user/new', { user_id: 'half \ud800' })).status).toBe(422)
      expect((await gateway.admin('/key/info?key=%00')).status).toBe(404)
      expect((await gateway.admin('/key/list?user_id=%00')).status).toBe(422)
      expect((await gateway.admin('/key/delete', { key_aliases: ['\u0000'] })).status).toBe(422)
      const group = { access_group: 'a\u0000b', model_names: ['chat-model'] }
      expect((await gateway.admin('/access_group/new', group)).status).toBe(422)
      expect((await gateway.admin('/tag/new', { name: 'told', description: 'two\nlines\u0000' })).status).toBe(422)
      expect((await gateway.admin('/tag/new', { name: 'told', description: 'two\nlines' })).status).toBe(200)
    })

    test('what was deleted is named, by text and by alias; an alias of several keys deletes none of them', async () => {
      const [one] = await Promise.all([gateway.key({}), gateway.key({ key_alias: 'alone' })])
      const deleted = await gateway.admin('/key/delete', { keys: [one], key_aliases: ['alone'] })
      expect(await deleted.json()).toEqual({ deleted_keys: [one, 'alone'] })
      const twins = [await gateway.key({ key_alias: 'twin' }), await gateway.key({ key_alias: 'twin' })]
      const refused = await gateway.admin('/key/delete', { key_aliases: ['twin'] })
      expect(refused.status).toBe(409)
      expect(((await refused.json()) as { error: { message: string } }).error.message).toContain(
        '2 keys have the alias',
      )
      for (const twin of twins) expect((await gateway.admin(`/key/info?key=${twin}`)).status).toBe(200)
      expect((await gateway.admin('/key/delete', { keys: [twins[0]] })).status).toBe(200)
      expect((await gateway.admin('/key/delete', { key_aliases: ['twin'] })).status).toBe(200)
      expect((await gateway.admin(`/key/info?key=${twins[1]}`)).status).toBe(404)
    })

    test('a key learns nothing of other keys, not even which there are', async () => {
      const [own, other] = await Promise.all([gateway.key({}), gateway.key({})])
      const ask = async (key: string) => {
        const answer = await fetch(`${gateway.url}/key/info${key && `?key=${key}`}`, {
          headers: { authorization: `Bearer ${own}` },
        })
        return { status: answer.status, body: (await answer.json()) as { info?: { token_id: string } } }
      }
      const self = await ask('')
      expect([self.status, (await ask(own)).status, (await ask(self.body.info!.token_id)).status]).toEqual([
        200, 200, 200,
      ])
      const foreign = await ask(other)
      expect(foreign.status).toBe(403)
      expect(await ask('sk-of-nobody')).toEqual(foreign)
      const master = await gateway.admin('/key/info')
      expect([master.status, await master.text()]).toEqual([
        404,
        expect.stringContaining('the master key is no virtual key'),
      ])
    })

    test('the error for a wrong field names the remedy', async () => {
      const messages = async (path: string, body: object) => {
        const answer = await gateway.admin(path, body)
        return ((await answer.json()) as { detail: { msg: string }[] }).detail.map(one => one.msg)
      }
      expect(await messages('/key/update', {})).toEqual(['is missing; send a string'])
      expect(await messages('/key/generate', { user: 'ada', team: 't', keyalias: 'a' })).toEqual(
        ['user_id', 'team_id'].map(name => `is not a known field here, did you mean \`${name}\`?`),
      )
      expect(
        await messages('/key/generate', { rpm_limit: -1, tpm_limit: 'x', max_parallel_requests: 1.5, key_alias: '' }),
      ).toEqual([
        'must not be empty',
        ...Array<string>(3).fill('must be a whole number from 0 to 1000000000, or null for no limit'),
      ])
    })

    test('an expired key makes room, a blocked one does not; an expired one that is extended needs room again', async () => {
      const create = async (fields: object = {}) => {
        const answer = await gateway.admin('/key/generate', { user_id: 'brief', ...fields })
        return { status: answer.status, key: ((await answer.json()) as { key: string }).key }
      }
      const [short, second] = [await create({ duration: '1h' }), await create(), await create()]
      expect((await create()).status).toBe(409)
      expect((await gateway.admin('/key/block', { key: second!.key })).status).toBe(200)
      expect((await create()).status).toBe(409)
      expect((await gateway.admin('/key/update', { key: short!.key, duration: '1s' })).status).toBe(200)
      await until(async () => (await create()).status === 200, 'it has expired')
      expect((await create()).status).toBe(409)
      expect((await gateway.admin('/key/update', { key: short!.key, key_alias: 'late' })).status).toBe(200)
      expect((await gateway.admin('/key/update', { key: short!.key, duration: '1h' })).status).toBe(409)
      await gateway.admin('/key/delete', { keys: [second!.key] })
      expect((await gateway.admin('/key/update', { key: short!.key, duration: '1h' })).status).toBe(200)
      expect((await create()).status).toBe(409)
    })

    test('null is the default of every field, and the error for a duration says what is wrong with it', async () => {
      const nulls = {
        models: null,
        metadata: null,
        blocked: null,
        duration: null,
        key_alias: null,
        user_id: null,
        team_id: null,
        rpm_limit: null,
      }
      const made = await gateway.admin('/key/generate', nulls)
      expect([made.status, await made.json()]).toEqual([
        200,
        expect.objectContaining({
          models: [],
          metadata: {},
          blocked: false,
          expires: null,
          key_alias: null,
          rpm_limit: null,
        }),
      ])
      const key = await gateway.key({ models: ['chat-model'], metadata: { a: 1 }, blocked: true })
      const updated = await gateway.admin('/key/update', { key, ...nulls })
      expect(await updated.json()).toMatchObject({ models: [], metadata: {}, blocked: false })
      const refused = async (duration: string) => {
        const answer = await gateway.admin('/key/generate', { duration, rpm_limit: -1 })
        const { detail } = (await answer.json()) as { detail: { loc: string[]; msg: string }[] }
        expect([answer.status, detail.map(one => one.loc[1])]).toEqual([422, ['duration', 'rpm_limit']])
        return detail[0]!.msg
      }
      expect(await refused('99999999999d')).toStartWith('must be at most 365000d (1000 years)')
      expect(await refused('365001d')).toStartWith('must be at most 365000d')
      expect(await refused('3 weeks')).toBe('must be a number and a unit: 45s, 15m, 12h, 30d, 2w, 1mo')
      expect(await refused('0d')).toBe('must be at least 1s')
      const longest = (await (await gateway.admin('/key/generate', { duration: '365000d' })).json()) as {
        expires: string
      }
      expect(new Date(longest.expires).getUTCFullYear()).toBeGreaterThan(3000)
    })

    test('nothing is given twice: no field of a body, no parameter of a query', async () => {
      const post = async (path: string, body: string) => {
        const answer = await fetch(`${gateway.url}${path}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${masterKey}` },
          body,
        })
        return [answer.status, ((await answer.json()) as { error: { message: string } }).error.message]
      }
      expect(await post('/key/generate', '{"rpm_limit":1,"rpm_limit":1000}')).toEqual([
        400,
        'the field "rpm_limit" is given twice (at byte 15)',
      ])
      expect(await post('/key/update', '{"key":"a","key":"b"}')).toEqual([
        400,
        expect.stringContaining('"key" is given twice'),
      ])
      expect(await post('/key/generate', '[]')).toEqual([400, expect.stringContaining('must be a JSON object')])
      expect(
        (
          await fetch(`${gateway.url}/key/generate`, {
            method: 'POST',
            headers: { authorization: `Bearer ${masterKey}` },
          })
        ).status,
      ).toBe(200)
      for (const query of [
        '/key/list?size=1&size=2',
        '/key/info?key=a&key=b',
        '/spend/logs/v2?page_size=1&page_size=2',
        '/utils/supported_openai_params?model=a&model=a',
      ]) {
        const answer = await gateway.admin(query)
        const { detail } = (await answer.json()) as { detail: { loc: string[]; msg: string }[] }
        expect([query, answer.status, detail[0]!.msg]).toEqual([query, 422, 'is given more than once; send it once'])
      }
    })

    test('a blocked key hears that it may be blocked, in the words that a stranger hears', async () => {
      const key = await gateway.key()
      await gateway.admin('/key/block', { key })
      const words = async (text: string) => {
        const answer = await fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${text}` } })
        return [answer.status, ((await answer.json()) as { error: { message: string } }).error.message]
      }
      expect(await words(key)).toEqual([
        401,
        'the API key is not known, was revoked, is blocked, or has expired; ask the administrator of this gateway for ' +
          'another, who makes a lost master key anew with `modelgate keys reset-master`',
      ])
      expect(await words('sk-of-nobody')).toEqual(await words(key))
      const slips: [text: string, said: string][] = [
        ['Bearer sk-x', 'says Bearer twice'],
        ['$KEY', 'the name of a variable'],
        ['"sk-x"', 'stands in quotes'],
        ['', 'is the variable that holds the key empty?'],
      ]
      for (const [text, said] of slips) expect(await words(text)).toEqual([401, expect.stringContaining(said)])
    })

    test('a compressed body is read, and one of an encoding that is not known refused as such', async () => {
      const send = (encoding: string, body: Uint8Array<ArrayBuffer>) => {
        const headers = { authorization: `Bearer ${masterKey}`, 'content-encoding': encoding }
        return fetch(`${gateway.url}/key/generate`, { method: 'POST', headers, body })
      }
      expect(await (await send('gzip', Bun.gzipSync('{"key_alias":"packed"}'))).json()).toMatchObject({
        key_alias: 'packed',
      })
      const answer = await send('compress', Bun.gzipSync('{}'))
      expect([answer.status, await answer.text()]).toEqual([
        415,
        expect.stringContaining("content-encoding 'compress' is not accepted"),
      ])
    })
  })
