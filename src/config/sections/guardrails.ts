/** Guardrails of the file. Their mistakes are found when it is read (`checks/guardrail-checks.ts`). */
import { z } from 'zod'
import type { GuardrailMode, GuardrailSettings } from '../../core/guardrails.ts'
import { settingKeys } from '../../core/setting-keys.ts'
import type { Values } from '../../core/setting-keys.ts'
import { guardrailKeys as paramKeys, guardrailName } from '../../guardrails/params.ts'
import type { GuardrailParams } from '../../guardrails/params.ts'
import { Secret } from '../../lib/secret.ts'
import { isDistinctBy, openMap } from './value-types.ts'

/** The key of the file. */
export const guardrailKeys = settingKeys('general', {
  guardrails: {
    entries: settingKeys('general', {
      guardrail_name: {
        type: guardrailName,
        isRequired: true,
        description: 'The name by which keys, teams, models and requests refer to the guardrail.',
        example: 'pii',
      },
      proxy_params: {
        keys: paramKeys,
        isRequired: true,
        description: 'What the guardrail does; `litellm_params` is the same.',
        litellm: 'litellm_params',
      },
      guardrail_info: {
        type: openMap,
        description: 'Notes of your own that are shown in lists of guardrails.',
        example: { description: 'personal data of customers' },
      },
    }),
    list: entry =>
      z
        .array(entry)
        .max(1000)
        .refine(isDistinctBy('guardrail_name'), 'has two guardrails of one name; give each a name of its own'),
    description: 'Rules that read the texts of calls, and mark, mask or refuse what they find (docs/guardrails.md).',
  },
})

/** The guardrails of the file, as settings. */
export function fileGuardrails({ guardrails: list = [] }: Values<typeof guardrailKeys>): readonly GuardrailSettings[] {
  return list.map(({ guardrail_name: name, proxy_params: params, guardrail_info: info }) =>
    guardrailOf({ id: name, name, params, info: info ?? {}, origin: 'config' }),
  )
}

interface NamedParams extends Pick<GuardrailSettings, 'id' | 'name' | 'info' | 'origin'> {
  readonly params: GuardrailParams
}

/** The settings of a checked entry. */
export function guardrailOf({ params, ...entry }: NamedParams): GuardrailSettings {
  const {
    guardrail: kind,
    mode,
    default_on: defaultOn = paramKeys.default_on.default,
    api_key: key,
    signing_secret: signing,
    ...rest
  } = params
  const modes = Array.isArray(mode) ? mode : [mode]
  const recordsOnly = modes.includes('logging_only')
  const stages = modes.filter((one): one is GuardrailMode => one !== 'logging_only')
  return {
    ...entry,
    kind,
    modes: recordsOnly ? ['pre_call', 'post_call'] : [...new Set(stages)],
    defaultOn,
    recordsOnly,
    params: rest,
    secrets: { apiKey: key === undefined ? undefined : new Secret(key), ...signingOf(signing) },
  }
}

const signingOf = (text: string | undefined) => (text === undefined ? {} : { signingSecret: new Secret(text) })
