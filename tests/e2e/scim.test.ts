/**
 * SCIM 2.0 as Entra ID and Okta speak it. The shapes follow their documentation:
 * learn.microsoft.com/entra/identity/app-provisioning/use-scim-to-provision-users-and-groups and
 * developer.okta.com/docs/api/openapi/okta-scim/guides/scim-20 (read 2026-11-23); the persons are made up.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { backends, masterKey, startGateway } from './harness.ts'
import type { Gateway } from './harness.ts'
import { enterpriseSchema, groupSchema, patchOf, scimClient, userSchema } from './scim-client.ts'
import type { Json, ScimClient } from './scim-client.ts'

for (const backend of backends())
  describe(backend.name, () => {
    let gateway: Gateway
    let scim: ScimClient
    beforeAll(async () => {
      gateway = await startGateway({ backend })
      scim = await scimClient(gateway)
    })
    afterAll(() => gateway.stop())

    const callStatus = async (key: string) => {
      const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
        body: JSON.stringify({ model: 'chat-model', messages: [{ role: 'user', content: 'hi' }] }),
      })
      await answer.text()
      return answer.status
    }
    const admin = async (path: string, body?: object): Promise<Json> => {
      const answer = await gateway.admin(path, body)
      if (answer.status !== 200) throw new Error(`${path}: ${await answer.text()}`)
      return (await answer.json()) as Json
    }
    const newUser = (userName: string, more: Json = {}) =>
      scim.done('POST', '/Users', { schemas: [userSchema], userName, ...more }) as Promise<Json & { id: string }>
    const newGroup = (displayName: string, members: readonly string[] = []) =>
      scim.done('POST', '/Groups', {
        schemas: [groupSchema],
        displayName,
        members: members.map(value => ({ value })),
      }) as Promise<Json & { id: string }>
    const memberIdsOf = async (id: string) =>
      (((await scim.done('GET', `/Groups/${id}`)).members ?? []) as Json[]).map(one => one.value).toSorted()

    test('a user whom the directory deletes loses password and links: they do not open the account of who gets the name', async () => {
      const login = async (password: string) => {
        const body = JSON.stringify({ username: 'namesake@contoso.example', password })
        const headers = { 'content-type': 'application/json' }
        const answer = await fetch(`${gateway.url}/login`, { method: 'POST', headers, body })
        await answer.text()
        return answer.status
      }
      const first = await newUser('namesake@contoso.example')
      const password = 'the first one of the name'
      await admin('/sign-in/password', { user_id: first.id, new_password: password })
      expect(await login(password)).toBe(200)
      const { url } = await admin('/sign-in/invitations', { user_id: first.id })
      await scim.ask('DELETE', `/Users/${first.id}`)
      expect(await newUser('namesake@contoso.example')).toMatchObject({ active: true })
      expect(await login(password)).toBe(401)
      const token = new URL(url as string).searchParams.get('token')
      const claimed = await fetch(`${gateway.url}/sign-in/claim`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ token, password: 'another one of the name' }),
      })
      await claimed.text()
      expect(claimed.status).toBe(404)
    })

    test('the token of a directory reaches SCIM alone, and makes no other token', async () => {
      const routes: [string, string, object?][] = [
        ['POST', '/key/generate', {}],
        ['POST', '/user/new', { user_id: 'by-directory' }],
        ['POST', '/scim/tokens', { key_alias: 'another' }],
        ['POST', '/sign-in/invitations', { user_id: 'x' }],
        ['POST', '/v1/chat/completions', { model: 'chat-model', messages: [{ role: 'user', content: 'hi' }] }],
        ['GET', '/user/list'],
        ['GET', '/audit'],
        ['GET', '/scim/v2/../../user/list'],
        ['GET', '/scim/v2/%2e%2e/%2e%2e/user/list'],
      ]
      for (const [method, path, body] of routes) {
        const headers = { authorization: `Bearer ${scim.token}`, 'content-type': 'application/json' }
        const answer = await fetch(gateway.url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
        await answer.text()
        expect([path, [401, 403, 404].includes(answer.status)]).toEqual([path, true])
      }
    })

    test('what stands in a filter is text, and nothing of it is SQL or a pattern', async () => {
      const own = await newUser("o'hara%_@contoso.example")
      expect(await scim.find('/Users', `userName eq "o'hara%_@contoso.example"`)).toEqual([own.id])
      const hostile = [
        "' or '1'='1",
        "x' union select hash from user_passwords --",
        '") or ("" eq "',
        '\\',
        '$1',
        '; drop table users',
      ]
      for (const text of hostile)
        for (const operator of ['eq', 'co', 'sw', 'ew'])
          expect([text, await scim.find('/Users', `userName ${operator} ${JSON.stringify(text)}`)]).toEqual([text, []])
      for (const pattern of ["o'hara__@contoso.example", "o'hara%@contoso.example", 'o%'])
        for (const operator of ['eq', 'co', 'sw'])
          expect([pattern, await scim.find('/Users', `userName ${operator} "${pattern}"`)]).toEqual([pattern, []])
      expect(await scim.find('/Users', 'userName sw "o\'hara%_"')).toEqual([own.id])
      for (const filter of [
        'userName eq "x" or 1 eq 1',
        'userName eq "x"; select 1',
        "userName eq 'x'",
        'password eq "x"',
      ]) {
        const { status } = await scim.ask('GET', `/Users?filter=${encodeURIComponent(filter)}`)
        expect([filter, status]).toEqual([filter, 400])
      }
    })

    test('Entra ID makes a user, finds it, changes it by paths and deactivates it with "False"', async () => {
      expect(await scim.find('/Users', 'userName eq "ada@contoso.example"')).toEqual([])
      const made = await scim.ask('POST', '/Users', {
        schemas: [userSchema, enterpriseSchema],
        externalId: 'ada-entra',
        userName: 'Ada@contoso.example',
        active: true,
        displayName: 'Ada Byron',
        emails: [{ primary: true, type: 'work', value: 'ada@contoso.example' }],
        meta: { resourceType: 'User' },
        name: { formatted: 'Ada Byron', familyName: 'Byron', givenName: 'Ada' },
        roles: [],
        [enterpriseSchema]: { department: 'Engines', manager: 'babbage' },
      })
      const id = made.body.id as string
      expect([made.status, made.headers.get('content-type'), made.headers.get('location')]).toEqual([
        201,
        'application/scim+json',
        `/scim/v2/Users/${id}`,
      ])
      expect(made.body).toMatchObject({
        schemas: [userSchema, enterpriseSchema],
        userName: 'Ada@contoso.example',
        externalId: 'ada-entra',
        active: true,
        [enterpriseSchema]: { department: 'Engines', manager: { value: 'babbage' } },
        meta: { resourceType: 'User', location: `/scim/v2/Users/${id}` },
      })
      expect(await scim.find('/Users', 'userName eq "ADA@contoso.example"')).toEqual([id])
      expect(await scim.find('/Users', 'externalId eq "ada-entra"')).toEqual([id])
      expect(await scim.find('/Users', 'emails[type eq "work"].value eq "Ada@contoso.example"')).toEqual([id])
      const key = (await admin('/key/generate', { user_id: id })).key as string
      expect(await callStatus(key)).toBe(200)
      const changed = await scim.done(
        'PATCH',
        `/Users/${id}`,
        patchOf(
          { op: 'Replace', path: 'emails[type eq "work"].value', value: 'countess@contoso.example' },
          { op: 'Replace', path: 'name.familyName', value: 'Lovelace' },
          { op: 'Add', path: 'phoneNumbers[type eq "mobile"].value', value: '+44 1' },
          { op: 'Replace', path: 'displayName', value: 'Ada Lovelace' },
          { op: 'Add', path: `${enterpriseSchema}:employeeNumber`, value: '1843' },
          { op: 'Remove', path: `${enterpriseSchema}:manager` },
        ),
      )
      expect(changed).toMatchObject({
        emails: [{ primary: true, type: 'work', value: 'countess@contoso.example' }],
        name: { familyName: 'Lovelace', givenName: 'Ada' },
        phoneNumbers: [{ type: 'mobile', value: '+44 1' }],
        [enterpriseSchema]: { department: 'Engines', employeeNumber: '1843' },
      })
      expect(await admin(`/v2/user/info?user_id=${id}`)).toMatchObject({
        user_email: 'countess@contoso.example',
        user_alias: 'Ada Lovelace',
      })
      const off = await scim.done('PATCH', `/Users/${id}`, patchOf({ op: 'Replace', path: 'active', value: 'False' }))
      expect([off.active, await callStatus(key)]).toEqual([false, 401])
      expect(await scim.find('/Users', 'userName eq "ada@contoso.example" and active eq false')).toEqual([id])
      const on = await scim.done('PATCH', `/Users/${id}`, patchOf({ op: 'Replace', path: 'active', value: 'True' }))
      expect([on.active, await callStatus(key)]).toEqual([true, 200])
    })

    test('keys with dots and addresses of schemas in a value without a path change their parts', async () => {
      const { id } = await newUser('dots@contoso.example')
      const value = {
        'name.givenName': 'Dot',
        [`${enterpriseSchema}:department`]: 'Sales',
        title: 'Captain',
        id: 'another',
        unknownThing: 1,
      }
      expect(await scim.done('PATCH', `/Users/${id}`, patchOf({ op: 'add', value }))).toMatchObject({
        id,
        name: { givenName: 'Dot' },
        title: 'Captain',
        [enterpriseSchema]: { department: 'Sales' },
      })
    })

    test('Okta makes a user, replaces it whole and deactivates it without a path; no password is kept', async () => {
      const sent = {
        schemas: [userSchema],
        userName: 'grace@okta.example',
        name: { givenName: 'Grace', familyName: 'Hopper' },
        emails: [{ primary: true, value: 'grace@okta.example', type: 'work' }],
        displayName: 'Grace Hopper',
        locale: 'en-US',
        externalId: '00u1dhhb1fkIGP7RL1d8',
        groups: [],
        password: 'canary-password-7Tq',
        active: true,
      }
      const made = await scim.done('POST', '/Users', sent)
      const id = made.id as string
      const renamed = await scim.done('PUT', `/Users/${id}`, { ...sent, id, displayName: 'Amazing Grace' })
      expect(renamed).toMatchObject({ id, displayName: 'Amazing Grace', active: true, locale: 'en-US' })
      const audited = JSON.stringify(await admin(`/audit?object_id=${id}`))
      expect(JSON.stringify([made, renamed, audited])).not.toContain('canary-password')
      const key = (await admin('/key/generate', { user_id: id })).key as string
      await scim.done('PATCH', `/Users/${id}`, patchOf({ op: 'replace', value: { active: false } }))
      expect(await callStatus(key)).toBe(401)
      expect((await scim.done('PUT', `/Users/${id}`, { ...sent, id, active: undefined })).active).toBe(false)
      expect((await scim.done('PUT', `/Users/${id}`, { ...sent, id })).active).toBe(true)
    })

    test('a group is a team: Okta and Entra ID add, remove and replace members in their own ways', async () => {
      const [a, b, c] = await Promise.all(['m1', 'm2', 'm3'].map(async name => (await newUser(`${name}@g.example`)).id))
      const { id } = await newGroup('Engineering', [a!])
      const patch = (...operations: Json[]) => scim.ask('PATCH', `/Groups/${id}`, patchOf(...operations))
      const first = await patch({ op: 'add', path: 'members', value: [{ value: b, display: 'm2@g.example' }] })
      expect([first.status, await memberIdsOf(id)]).toEqual([204, [a!, b!].toSorted()])
      await patch({ op: 'Add', path: 'members', value: [{ $ref: null, value: c }] })
      await patch({ op: 'remove', path: `members[value eq "${a}"]` })
      expect(await memberIdsOf(id)).toEqual([b!, c!].toSorted())
      await patch({ op: 'Remove', path: 'members', value: [{ value: b }] })
      expect(await memberIdsOf(id)).toEqual([c!])
      await patch({ op: 'replace', value: { id, displayName: 'Engineers' } })
      await patch({ op: 'replace', path: 'members', value: [{ value: a }, { value: b }] })
      await patch({ op: 'remove', path: `members[value eq "${a}" or value eq "gone"]` })
      expect(await memberIdsOf(id)).toEqual([b!])
      expect(await admin(`/team/info?team_id=${id}`)).toMatchObject({
        team_info: { team_alias: 'Engineers', members: [b] },
      })
      expect((await scim.done('GET', `/Users/${b}`)).groups).toMatchObject([{ value: id, display: 'Engineers' }])
      expect(await scim.find('/Groups', 'displayName eq "engineers"')).toEqual([id])
      expect(await scim.find('/Groups', `id eq "${id}" and members eq "${b}"`)).toEqual([id])
      expect(await scim.find('/Groups', `members[value eq "${a}"]`)).toEqual([])
      const alone = await scim.done('GET', `/Groups/${id}?excludedAttributes=members`)
      expect([alone.members, alone.displayName]).toEqual([undefined, 'Engineers'])
      await patch({ op: 'remove', path: 'members' })
      expect(await memberIdsOf(id)).toEqual([])
    })

    test('an admin of the team stays one when the directory sends the member again', async () => {
      const { id: user } = await newUser('lead@g.example')
      const { id } = await newGroup('Led', [user])
      await admin('/team/member_update', { team_id: id, user_id: user, role: 'admin' })
      await scim.done('PUT', `/Groups/${id}`, {
        schemas: [groupSchema],
        displayName: 'Led',
        members: [{ value: user }],
      })
      expect(await admin(`/team/info?team_id=${id}`)).toMatchObject({ team_info: { admins: [user] } })
    })

    test('a member who leaves a group loses the keys in its team', async () => {
      const { id: user } = await newUser('leaver@g.example')
      const { id } = await newGroup('Left', [user])
      const key = (await admin('/key/generate', { user_id: user, team_id: id })).key as string
      expect(await callStatus(key)).toBe(200)
      await scim.done('PATCH', `/Groups/${id}`, patchOf({ op: 'remove', path: `members[value eq "${user}"]` }))
      expect(await callStatus(key)).toBe(401)
    })

    test('a deleted user loses its keys for good, is gone for the directory, and comes back under its id', async () => {
      const { id } = await newUser('returns@x.example', { externalId: 'ext-returns' })
      const { id: group } = await newGroup('Returned', [id])
      const key = (await admin('/key/generate', { user_id: id })).key as string
      expect((await scim.ask('DELETE', `/Users/${id}`)).status).toBe(204)
      expect(await callStatus(key)).toBe(401)
      expect((await scim.ask('GET', `/Users/${id}`)).status).toBe(404)
      expect((await scim.ask('DELETE', `/Users/${id}`)).status).toBe(404)
      expect(await scim.find('/Users', 'userName eq "returns@x.example"')).toEqual([])
      expect(await memberIdsOf(group)).toEqual([])
      expect(await admin(`/v2/user/info?user_id=${id}`)).toMatchObject({ blocked: true })
      const again = await newUser('returns@x.example', { externalId: 'ext-returns' })
      expect([again.id, again.active, again.groups]).toEqual([id, true, undefined])
      expect(await callStatus(key)).toBe(401)
    })

    test('another person who gets the name of a deleted user is another user', async () => {
      const { id } = await newUser('john@x.example', { externalId: 'first-john' })
      await scim.done('DELETE', `/Users/${id}`)
      const other = await newUser('john@x.example', { externalId: 'second-john' })
      expect(other.id).not.toBe(id)
      const back = await newUser('john.the.first@x.example', { externalId: 'first-john' })
      expect(back.id).not.toBe(other.id)
    })

    test('a deleted group refuses the keys of its team, and works again when it is sent again', async () => {
      const { id } = await newGroup('Ops')
      const key = (await admin('/key/service-account/generate', { team_id: id })).key as string
      expect(await callStatus(key)).toBe(200)
      await scim.done('DELETE', `/Groups/${id}`)
      expect(await callStatus(key)).toBe(401)
      expect((await scim.ask('GET', `/Groups/${id}`)).status).toBe(404)
      expect((await newGroup('Ops')).id).toBe(id)
      expect(await callStatus(key)).toBe(200)
    })

    test('what an administrator has blocked stays blocked, whatever the directory sends', async () => {
      const { id } = await newUser('blocked@x.example')
      await admin('/user/update', { user_id: id, blocked: true })
      const patched = await scim.done('PATCH', `/Users/${id}`, patchOf({ op: 'replace', value: { active: true } }))
      expect(patched.active).toBe(false)
      await scim.done('PATCH', `/Users/${id}`, patchOf({ op: 'replace', value: { active: false } }))
      const again = await scim.done('PATCH', `/Users/${id}`, patchOf({ op: 'replace', value: { active: true } }))
      expect(again.active).toBe(false)
    })

    test('a user whom an administrator made is found by its address, and is linked by a change', async () => {
      await admin('/user/new', { user_id: 'by-hand', user_email: 'hand@x.example', auto_create_key: false })
      expect(await scim.find('/Users', 'userName eq "Hand@x.example"')).toEqual(['by-hand'])
      const taken = await scim.ask('POST', '/Users', { userName: 'hand@x.example' })
      expect([taken.status, taken.body.scimType]).toEqual([409, 'uniqueness'])
      const named = await scim.done('PATCH', '/Users/by-hand', patchOf({ op: 'add', value: { externalId: 'h-1' } }))
      expect(named).toMatchObject({ id: 'by-hand', userName: 'hand@x.example', externalId: 'h-1' })
    })

    test('names and ids of the directory are unique among users and groups', async () => {
      await newUser('one@u.example', { externalId: 'u-1' })
      const { id } = await newUser('two@u.example', { externalId: 'u-2' })
      await newGroup('Unique')
      const cases: [method: string, path: string, body: Json][] = [
        ['POST', '/Users', { userName: 'ONE@u.example' }],
        ['POST', '/Users', { userName: 'three@u.example', externalId: 'u-1' }],
        ['PUT', `/Users/${id}`, { userName: 'one@u.example' }],
        ['PATCH', `/Users/${id}`, patchOf({ op: 'replace', path: 'externalId', value: 'u-1' })],
        ['POST', '/Groups', { displayName: 'unique' }],
      ]
      for (const [method, path, body] of cases) {
        const heard = await scim.ask(method, path, body)
        expect([path, heard.status, heard.body.scimType]).toEqual([path, 409, 'uniqueness'])
      }
    })

    test('errors have the schema of SCIM, say what is wrong, and change nothing', async () => {
      const { id } = await newUser('errors@x.example')
      const before = await scim.done('GET', `/Users/${id}`)
      const patch = (operation: Json): [string, string, Json] => ['PATCH', `/Users/${id}`, patchOf(operation)]
      const cases: [status: number, type: string | undefined, says: RegExp, request: [string, string, Json?]][] = [
        [400, 'invalidValue', /userName is missing/, ['POST', '/Users', { displayName: 'X' }]],
        [400, 'invalidValue', /no e-mail address/, ['POST', '/Users', { userName: 'y', emails: [{ value: 'y' }] }]],
        [400, 'invalidValue', /active must be true or false/, patch({ op: 'replace', path: 'active', value: 'maybe' })],
        [400, 'invalidPath', /no attribute 'shoeSize'/, patch({ op: 'replace', path: 'shoeSize', value: 1 })],
        [400, 'invalidPath', /expects a value/, patch({ op: 'remove', path: 'emails[type eq work]' })],
        [400, 'mutability', /read only/, patch({ op: 'replace', path: 'id', value: 'x' })],
        [400, 'mutability', /required/, patch({ op: 'remove', path: 'userName' })],
        [400, 'noTarget', /needs a `path`/, patch({ op: 'remove' })],
        [400, 'invalidValue', /op/, patch({ op: 'merge', path: 'title', value: 'x' })],
        [400, 'invalidFilter', /operator 'is'/, ['GET', '/Users?filter=userName%20is%20%22x%22']],
        [400, 'invalidFilter', /not searched/, ['GET', '/Users?filter=title%20eq%20%22x%22']],
        [
          400,
          'invalidValue',
          /there is no user 'ghost'/,
          ['POST', '/Groups', { displayName: 'G', members: [{ value: 'ghost' }] }],
        ],
        [404, undefined, /there is no user 'ghost'/, ['GET', '/Users/ghost']],
        [404, undefined, /there is no GET/, ['GET', '/Nothing']],
        [405, undefined, /use/, ['DELETE', '/Users']],
        [403, undefined, /no filter/, ['GET', '/Schemas?filter=x']],
      ]
      for (const [status, scimType, says, [method, path, body]] of cases) {
        const heard = await scim.ask(method, path, body)
        expect([method, path, heard.status, heard.body.scimType]).toEqual([method, path, status, scimType])
        expect(heard.body).toMatchObject({
          schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
          status: String(status),
          detail: expect.stringMatching(says),
        })
        expect(heard.headers.get('content-type')).toBe('application/scim+json')
      }
      expect(await scim.done('GET', `/Users/${id}`)).toEqual(before)
    })

    test('versions: 304 for a client that has the resource, 412 for a change of another version', async () => {
      const { id } = await newUser('etag@x.example')
      const { id: group } = await newGroup('Versions')
      for (const path of [`/Users/${id}`, `/Groups/${group}`]) {
        const first = await scim.ask('GET', path)
        const etag = first.headers.get('etag')!
        expect((first.body.meta as Json).version).toBe(etag)
        expect((await scim.ask('GET', path, undefined, { 'if-none-match': etag })).status).toBe(304)
        await scim.done('PATCH', `/Groups/${group}`, patchOf({ op: 'add', path: 'members', value: [{ value: id }] }))
        const second = await scim.ask('GET', path, undefined, { 'if-none-match': etag })
        expect([path, second.status]).toEqual([path, 200])
        const change = patchOf({ op: 'replace', path: path.startsWith('/U') ? 'title' : 'externalId', value: 'x' })
        expect((await scim.ask('PATCH', path, change, { 'if-match': etag })).status).toBe(412)
        expect(
          (await scim.ask('PATCH', path, change, { 'if-match': second.headers.get('etag')! })).status,
        ).toBeLessThan(300)
        await scim.done('PATCH', `/Groups/${group}`, patchOf({ op: 'remove', path: 'members' }))
      }
    })

    test('a directory that repeats itself changes no version and writes no audit row', async () => {
      const { id } = await newUser('same@x.example', { displayName: 'Same', title: 'T' })
      const before = await scim.done('GET', `/Users/${id}`)
      const rows = (await admin(`/audit?object_id=${id}`)).total
      const repeated = {
        schemas: [userSchema],
        userName: 'same@x.example',
        displayName: 'Same',
        title: 'T',
        active: true,
      }
      expect(await scim.done('PUT', `/Users/${id}`, repeated)).toEqual(before)
      expect((await admin(`/audit?object_id=${id}`)).total).toBe(rows)
    })

    test('lists have pages by number and by cursor, and show each user once', async () => {
      for (let at = 0; at < 7; at++) await newUser(`page${at}@p.example`, { title: 'page' })
      const all = (await scim.done('GET', '/Users?count=200')) as { totalResults: number; Resources: Json[] }
      const ids = all.Resources.map(one => one.id)
      expect(all.totalResults).toBe(ids.length)
      const byNumber: unknown[] = []
      for (let startIndex = 1; byNumber.length < ids.length; startIndex += 3) {
        const page = await scim.done('GET', `/Users?count=3&startIndex=${startIndex}&attributes=userName`)
        expect(page).toMatchObject({ startIndex, totalResults: ids.length })
        byNumber.push(...(page.Resources as Json[]).map(one => one.id))
      }
      const byCursor: unknown[] = []
      for (let cursor: unknown = ''; cursor !== undefined; ) {
        const page = await scim.done('GET', `/Users?count=3&cursor=${String(cursor)}`)
        byCursor.push(...(page.Resources as Json[]).map(one => one.id))
        cursor = page.nextCursor
      }
      expect([byNumber, byCursor]).toEqual([ids, ids])
      expect(await scim.done('GET', '/Users?count=0')).toMatchObject({ totalResults: ids.length, Resources: [] })
      expect(await scim.done('GET', '/Users?startIndex=-5&count=-1')).toMatchObject({ startIndex: 1, Resources: [] })
      const [first] = (await scim.done('GET', '/Users?count=1&attributes=name.givenName')).Resources as Json[]
      expect(Object.keys(first!).toSorted()).toEqual(expect.arrayContaining(['id', 'schemas']))
      expect(first!.userName).toBeUndefined()
    })

    test('filters join conditions of every kind', async () => {
      const { id: x } = await newUser('filter-x@f.example', { displayName: 'Xavier 100%', active: false })
      const { id: y } = await newUser('filter-y@f.example', { displayName: 'Yolanda', externalId: 'f-y' })
      const cases: [filter: string, ids: string[]][] = [
        ['userName sw "FILTER-"', [x, y]],
        ['userName ew "@f.example" and active eq true', [y]],
        ['userName co "filter-" and not (active eq true)', [x]],
        ['displayName co "0%"', [x]],
        ['displayName co "_00%"', []],
        ['(externalId eq "f-y" or displayName eq "xavier 100%") and meta.created gt "2020-01-01T00:00:00Z"', [x, y]],
        ['userName sw "filter-" and externalId pr', [y]],
        ['userName sw "filter-" and externalId ne "f-y"', [x]],
        ['userName sw "filter-" and emails.value eq "filter-y@f.example"', [y]],
        [`${userSchema}:userName eq "filter-x@f.example"`, [x]],
      ]
      for (const [filter, ids] of cases) expect([filter, await scim.find('/Users', filter)]).toEqual([filter, ids])
    })

    test('a token asks for SCIM and for nothing else, and is no key of a user', async () => {
      const { token } = scim
      for (const path of ['/key/list', '/user/list', '/v1/models', '/audit']) {
        const { status } = await fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${token}` } })
        expect([path, status]).toEqual([path, 403])
      }
      const more = await fetch(`${gateway.url}/scim/tokens`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}` },
        body: '{}',
      })
      expect(more.status).toBe(403)
      expect((await scim.ask('GET', '/Users/scim-directory')).status).toBe(404)
      expect((await gateway.admin('/user/info?user_id=scim-directory')).status).toBe(404)
      const { keys } = await admin('/key/list?of_directory=true&return_full_object=true')
      expect(keys).toEqual([expect.objectContaining({ key_alias: 'test', user_id: null, team_id: null })])
      const [{ token: hash }] = keys as [{ token: string }]
      await admin('/key/update', { key: hash, allowed_routes: [], user_id: 'maker-of-all' })
      await admin('/user/new', { user_id: 'maker-of-all', user_role: 'proxy_admin', auto_create_key: false })
      for (const path of ['/key/list', '/v1/models', '/key/info']) {
        const { status } = await fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${token}` } })
        expect([path, status]).toEqual([path, 403])
      }
      const plain = await gateway.key()
      const refused = await fetch(`${gateway.url}/scim/v2/Users`, { headers: { authorization: `Bearer ${plain}` } })
      expect([refused.status, ((await refused.json()) as Json).status]).toEqual([403, '403'])
    })

    interface BulkOutcome {
      readonly method: string
      readonly bulkId?: string
      readonly status: string
      readonly location?: string
      readonly version?: string
      readonly response?: { readonly detail: string; readonly scimType: string }
    }
    const bulk = async (operations: readonly Json[], more: Json = {}): Promise<BulkOutcome[]> => {
      const schemas = ['urn:ietf:params:scim:api:messages:2.0:BulkRequest']
      const answer = await scim.done('POST', '/Bulk', { schemas, Operations: operations, ...more })
      expect(answer.schemas).toEqual(['urn:ietf:params:scim:api:messages:2.0:BulkResponse'])
      return answer.Operations as BulkOutcome[]
    }
    const makes = (bulkId: string, userName: string) => ({
      method: 'POST',
      path: '/Users',
      bulkId,
      data: { schemas: [userSchema], userName },
    })
    const groupOf = (bulkId: string, displayName: string, ...values: string[]) => ({
      method: 'POST',
      path: '/Groups',
      bulkId,
      data: { schemas: [groupSchema], displayName, members: values.map(value => ({ value })) },
    })
    const idOf = ({ location = '' }: BulkOutcome) => location.slice(location.lastIndexOf('/') + 1)

    test('a bulk request makes a group before its member, by bulkId, and changes what it has made', async () => {
      const outcomes = await bulk([
        groupOf('g', 'Bulk', 'bulkId:u'),
        makes('u', 'bulk-1@contoso.example'),
        { method: 'PATCH', path: '/Users/bulkId:u', data: patchOf({ op: 'replace', path: 'title', value: 'Dr' }) },
        { method: 'put', path: '/Groups/bulkId:g', data: { displayName: 'Bulk 2', members: [{ value: 'bulkId:u' }] } },
      ])
      expect(outcomes.map(one => [one.method, one.bulkId, one.status])).toEqual([
        ['POST', 'g', '201'],
        ['POST', 'u', '201'],
        ['PATCH', undefined, '200'],
        ['PUT', undefined, '200'],
      ])
      const [group, user, patched] = outcomes as [BulkOutcome, BulkOutcome, BulkOutcome]
      expect(await memberIdsOf(idOf(group))).toEqual([idOf(user)])
      expect((await scim.done('GET', `/Users/${idOf(user)}`)).title).toBe('Dr')
      const { version } = patched
      const removal = { method: 'DELETE', path: `/Users/${idOf(user)}` }
      const [stale] = await bulk([{ ...removal, version: 'W/"0"' }])
      expect(stale).toMatchObject({ status: '412', response: { status: '412' } })
      expect(version).toMatch(/^W\/"/)
      expect(await bulk([removal])).toEqual([
        { method: 'DELETE', status: '204', location: expect.stringContaining(`/Users/${idOf(user)}`) },
      ])
    })

    test('operations of a bulk request that fail say why, leave the others alone, and failOnErrors stops there', async () => {
      const operations = [
        makes('a', 'bulk-2@contoso.example'),
        makes('b', 'bulk-2@contoso.example'),
        groupOf('c', 'Nobody', 'bulkId:b'),
        groupOf('d', 'Unknown', 'bulkId:z'),
        groupOf('e', 'Circle', 'bulkId:f'),
        groupOf('f', 'Circle 2', 'bulkId:e'),
        { method: 'DELETE', path: '/Schemas/x' },
        { method: 'POST', path: '/Users', data: { userName: 'bulk-3@contoso.example' } },
        { method: 'PATCH', path: '/Users/../../key/x', data: {} },
        makes('last', 'bulk-4@contoso.example'),
      ]
      const outcomes = await bulk(operations)
      expect(outcomes.map(one => one.status)).toEqual([
        ...['201', '409', '409', '409', '409', '409', '400', '400', '400'],
        '201',
      ])
      expect(outcomes.map(one => one.response?.scimType)).toEqual([
        undefined,
        'uniqueness',
        ...Array<string>(4).fill('invalidValue'),
        ...['invalidPath', 'invalidValue', 'invalidPath'],
        undefined,
      ])
      expect(outcomes[5]!.response!.detail).toContain('need each other')
      expect(await scim.find('/Groups', 'displayName eq "Circle 2" or displayName eq "Nobody"')).toEqual([])
      const stopped = await bulk(
        [makes('a', 'bulk-5@contoso.example'), ...operations.slice(1, 4), makes('z', 'bulk-6@contoso.example')],
        { failOnErrors: 2 },
      )
      expect(stopped.map(one => one.status)).toEqual(['201', '409', '409'])
      expect(await scim.find('/Users', 'userName eq "bulk-6@contoso.example"')).toEqual([])
    })

    test('a bulk request beyond its bounds is refused whole', async () => {
      const { bulk: limits } = await scim.done('GET', '/ServiceProviderConfig')
      expect(limits).toEqual({ supported: true, maxOperations: 1000, maxPayloadSize: 4 * 1024 * 1024 })
      const many = Array.from({ length: 1001 }, (_, at) => makes(`u${at}`, `many-${at}@contoso.example`))
      const tooMany = await scim.ask('POST', '/Bulk', { Operations: many })
      expect([tooMany.status, String(tooMany.body.detail)]).toEqual([413, expect.stringContaining('1000 are the most')])
      const padding = 'x'.repeat(4 * 1024 * 1024)
      expect((await scim.ask('POST', '/Bulk', { Operations: [makes('u', padding)] })).status).toBe(413)
      const twice = await scim.ask('POST', '/Bulk', {
        Operations: [makes('u', 'x@x.example'), makes('u', 'y@x.example')],
      })
      expect([twice.status, twice.body.scimType]).toEqual([400, 'invalidValue'])
      expect(await scim.find('/Users', 'userName sw "many-" or userName eq "x@x.example"')).toEqual([])
    })

    test('what SCIM can do is described: abilities, types, schemas', async () => {
      expect(await scim.done('GET', '/ServiceProviderConfig')).toMatchObject({
        patch: { supported: true },
        etag: { supported: true },
        filter: { supported: true, maxResults: 200 },
      })
      const types = (await scim.done('GET', '/ResourceTypes')) as { Resources: Json[] }
      expect(types.Resources.map(one => [one.id, one.endpoint])).toEqual([
        ['User', '/Users'],
        ['Group', '/Groups'],
      ])
      expect(await scim.done('GET', `/Schemas/${enterpriseSchema}`)).toMatchObject({ id: enterpriseSchema })
      const core = (await scim.done('GET', `/Schemas/${userSchema}`)) as { attributes: Json[] }
      expect(core.attributes.find(one => one.name === 'userName')).toMatchObject({
        required: true,
        uniqueness: 'server',
        caseExact: false,
      })
    })

    test('each change has its audit row, under the user of the token', async () => {
      const { id } = await newUser('audited@x.example')
      await scim.done('PATCH', `/Users/${id}`, patchOf({ op: 'replace', value: { active: false } }))
      const { audit_logs: rows } = await admin(`/audit?object_id=${id}`)
      expect((rows as Json[]).map(one => [one.action, one.changed_by])).toEqual([
        ['blocked', 'scim-directory'],
        ['created', 'scim-directory'],
      ])
      expect(masterKey).not.toBe(scim.token)
    })
  })
