/**
 * A directory of many users is sent in seconds, one request after the other, as Entra ID and Okta send them. `USERS=n`
 * sends another number: 1,000 take 3.5 s of the processor.
 */
import { expect, test } from 'bun:test'
import { startGateway } from './harness.ts'
import { enterpriseSchema, patchOf, scimClient, userSchema } from './scim-client.ts'

const users = Number(process.env.USERS ?? 400)
/**
 * Of the processor, for directory and gateway together: a loaded machine does not count. The database is in this
 * process, too; of Postgres the work would not be seen here.
 */
const mostMs = 10 * users

test(`${users} users are made and grouped in ${mostMs} ms of the processor`, async () => {
  const gateway = await startGateway()
  try {
    const scim = await scimClient(gateway)
    const group = await scim.done('POST', '/Groups', { displayName: 'Everyone' })
    const used = process.cpuUsage()
    const ids: string[] = []
    for (let at = 0; at < users; at++) {
      const userName = `person-${at}@contoso.example`
      expect(await scim.find('/Users', `userName eq "${userName}"`)).toEqual([])
      const made = await scim.done('POST', '/Users', {
        schemas: [userSchema, enterpriseSchema],
        userName,
        externalId: `person-${at}`,
        active: true,
        displayName: `Person ${at}`,
        emails: [{ primary: true, type: 'work', value: userName }],
        name: { givenName: 'Person', familyName: String(at) },
        [enterpriseSchema]: { department: 'Sales' },
      })
      ids.push(made.id as string)
    }
    // Entra ID sends members by the hundred.
    for (let at = 0; at < users; at += 100) {
      const value = ids.slice(at, at + 100).map(id => ({ value: id }))
      const patch = patchOf({ op: 'Add', path: 'members', value })
      expect((await scim.ask('PATCH', `/Groups/${String(group.id)}`, patch)).status).toBe(204)
    }
    const { user, system } = process.cpuUsage(used)
    const usedMs = Math.round((user + system) / 1000)
    console.log(`${users} users in ${usedMs} ms of the processor`)
    expect((await scim.done('GET', '/Users?count=0')).totalResults).toBe(users)
    expect(usedMs).toBeLessThan(mostMs)
  } finally {
    await gateway.stop()
  }
}, 60_000)
