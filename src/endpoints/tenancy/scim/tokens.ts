/** Tokens for directories: keys that may ask for SCIM and for nothing else. */
import { randomUUIDv7 } from 'bun'
import { z } from 'zod'
import { actorOf } from '../../../accounts/actor.ts'
import { keyHint, mintKey, readDuration } from '../../../accounts/key.ts'
import { restrictionOf } from '../../../accounts/key-grants.ts'
import { durationText, iso, keyName } from '../../../accounts/fields/spending-fields.ts'
import { newUser } from '../../../accounts/fields/user-fields.ts'
import { bareKey } from '../../../core/caller.ts'
import type { Endpoint } from '../../../core/endpoint.ts'
import { forbidden } from '../../common/answers.ts'
import { withBody } from '../../common/json-endpoint.ts'
import { lazy } from '../../../lib/lazy.ts'

/** The user of all tokens: no person, so that no departure ends the synchronisation. SCIM does not see it. */
export const directoryUserId = 'scim-directory'
/** What a token may ask for. */
const tokenRoutes: readonly string[] = ['/scim/v2/*']

const tokenBody = lazy(() =>
  z.strictObject({
    key_alias: keyName().nullable().optional().describe('A name for people, such as `Entra ID`.'),
    duration: durationText().nullable().optional().describe('How long it works: `365d`; absent = until it is deleted.'),
  }),
)

/** It is a key like others: GET /key/list?user_id=scim-directory lists them, POST /key/delete ends one. */
export const scimTokenNew: Endpoint = withBody(tokenBody, {
  paths: ['/scim/tokens'],
  auth: 'admin',
  tag: 'Directory',
  answer: 'ScimToken',
  operationId: 'createScimToken',
  summary: 'Make a token for a directory; the answer is the only place that ever shows it',
  async handle({ key_alias: alias, duration }, { services, caller }) {
    const restriction = restrictionOf(caller.key)
    if (restriction)
      throw forbidden(`this key has a restriction of its own (${restriction}), so that it makes no tokens`)
    const { signIn } = services.current.settings
    const keyText = mintKey()
    const lifetime = duration == null ? undefined : readDuration(duration)
    const key = await services.tenancy.change(actorOf(caller), async tx => {
      if (!(await tx.find('user', directoryUserId)))
        await tx.insert(
          'user',
          newUser(
            directoryUserId,
            { user_alias: 'Directory (SCIM)', user_role: 'proxy_admin', models: ['no-default-models'] },
            {},
          ),
        )
      return tx.insertKey({
        ...bareKey,
        id: randomUUIDv7(),
        hash: services.hashKey(keyText),
        hint: keyHint(keyText),
        formerHash: null,
        formerEndMs: null,
        alias: alias ?? null,
        userId: directoryUserId,
        allowedRoutes: tokenRoutes,
        expiresAtMs: lifetime && 'ms' in lifetime ? tx.nowMs + lifetime.ms : null,
      })
    })
    return {
      token: keyText,
      key: key.hash,
      token_id: key.id,
      scim_url: `${signIn.baseUrl ?? signIn.rootPath}/scim/v2`,
      user_id: directoryUserId,
      expires: iso(key.expiresAtMs),
    }
  },
})
