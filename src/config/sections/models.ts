/** The models that are offered, and the credentials that they share. */
import { z } from 'zod'
import { schemaOf, settingKeys } from '../../core/setting-keys.ts'
import type { Values } from '../../core/setting-keys.ts'
import { modelInfoKeys } from './model-info.ts'
import { modelParamKeys } from './model-params.ts'
import { isDistinctBy, modelName, openMap } from './value-types.ts'

/** Keys of an entry of `model_list`. Entries with the same `model_name` are load-balanced. */
export const modelEntryKeys = settingKeys('providers', {
  model_name: {
    type: modelName,
    isRequired: true,
    description:
      'The public name, which clients send. Entries with one name share its calls; `vendor/*` stands for every name ' +
      'that fits.',
    example: 'fast',
  },
  proxy_params: {
    keys: modelParamKeys,
    isRequired: true,
    description: 'How the model is reached, and what its calls get.',
    litellm: 'litellm_params',
  },
  model_info: {
    keys: modelInfoKeys,
    description: 'What is known about the model, where the catalogue does not know it or is wrong.',
  },
})

/** A valid entry. Times are in seconds, prices in dollars for one unit. */
export type ModelEntry = Values<typeof modelEntryKeys>

const { model: _model, credential_name: _name, ...others } = modelParamKeys
/** The keys of `proxy_params` that a credential may hold. */
export const credentialParamKeys = others

const credentialKeys = settingKeys('providers', {
  credential_name: {
    type: () => modelName().max(200),
    isRequired: true,
    description: 'The name by which models refer to the credential.',
    example: 'azure-west',
  },
  credential_info: {
    type: openMap,
    description: 'Notes of your own that are shown in lists of credentials.',
    example: { description: 'paid by the research group' },
  },
  credential_values: {
    type: () =>
      openMap().superRefine((values, context) => {
        for (const issue of schemaOf(credentialParamKeys).safeParse(values).error?.issues ?? [])
          context.addIssue({ ...issue })
      }),
    isRequired: true,
    description:
      'Fields of `proxy_params` that are shared, as `api_key` and `api_base`; those of the model itself win.',
    example: { api_key: 'os.environ/AZURE_WEST_KEY', api_base: 'https://west.openai.azure.com' },
  },
})

/** The keys of the file. */
export const modelKeys = settingKeys('providers', {
  model_list: {
    entries: modelEntryKeys,
    list: entry => z.array(entry),
    description:
      'The models that are offered. Without it they are those of every provider with a key in the environment, and ' +
      'of model servers on this machine.',
  },
  credential_list: {
    entries: credentialKeys,
    list: entry =>
      z
        .array(entry)
        .max(1000)
        .refine(isDistinctBy('credential_name'), 'has two credentials of one name; give each a name of its own'),
    description: 'Keys and addresses that several models share (docs/models-by-api.md).',
  },
})
