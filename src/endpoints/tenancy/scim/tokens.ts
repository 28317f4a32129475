/** Tokens for directories: keys that may ask for SCIM and for nothing else. */
import { randomUUIDv7 } from 'bun'
import { z } from 'zod'
import { actorOf } from '../../../access/actor.ts'
import { keyHint, mintKey, readDuration } from '../../../access/key.ts'
import { restrictionOf } from '../../../access/key-grants.ts'
import { iso } from '../../../access/fields/answers.ts'
import { durationText, keyName } from '../../../access/fields/checks.ts'
import { bareKey } from '../../../core/caller.ts'
import type { Endpoint } from '../../../core/endpoint.ts'
import { forbidden } from '../../common/answers.ts'
import { withBody } from '../../common/json-endpoint.ts'
import { lazy } from '../../../lib/lazy.ts'
import { dateTime, named, nullable, shape, text } from '../../openapi/schema.ts'

const scimTokenSchema = named('ScimToken', () =>
  shape({
    token: text,
    key: text,
    token_id: text,
    scim_url: text,
    expires: nullable(dateTime),
  }),
)

const tokenBody = lazy(() =>
  z.strictObject({
    key_alias: keyName().nullable().optional().describe('It is a name for people, such as `Entra ID`.'),
    duration: durationText().nullable().optional().describe('How long it works: `365d`; absent = until it is deleted.'),
  }),
)

/** It is a key of no user, so that no departure ends the synchronisation; POST /key/delete ends it. */
export const scimTokenNew: Endpoint = withBody(tokenBody, {
  paths: ['/scim/tokens'],
  auth: 'admin',
  tag: 'Directory',
  answer: scimTokenSchema,
  operationId: 'createScimToken',
  summary: 'Make a token for a directory; the answer is the only place that ever shows it',
  async handle({ key_alias: alias, duration }, { services, caller }) {
    const restriction = restrictionOf(caller.key)
    if (restriction)
      throw forbidden(`this key has a restriction of its own (${restriction}), so that it makes no tokens`)
    const { signIn } = services.current.settings
    const keyText = mintKey()
    const lifetime = duration == null ? undefined : readDuration(duration)
    const key = await services.tenancy.change(actorOf(caller), tx =>
      tx.insertKey({
        ...bareKey,
        id: randomUUIDv7(),
        hash: services.hashKey(keyText),
        hint: keyHint(keyText),
        alias: alias ?? null,
        ofDirectory: true,
        expiresAtMs: lifetime && 'ms' in lifetime ? tx.nowMs + lifetime.ms : null,
      }),
    )
    return {
      token: keyText,
      key: key.hash,
      token_id: key.id,
      scim_url: `${signIn.baseUrl ?? signIn.rootPath}/scim/v2`,
      expires: iso(key.expiresAtMs),
    }
  },
})
