import { Link } from '@tanstack/react-router'
import type { ModelGroup } from '../../api/model-groups.ts'
import { Tag } from '../../components/badge.tsx'
import { buttonClass } from '../../components/button.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { Drawer } from '../../components/drawer.tsx'
import { Facts } from '../../components/facts.tsx'
import { Id } from '../../components/id.tsx'
import { Tokens } from '../../components/values.tsx'
import { gatewayUrl } from '../../lib/places.ts'
import { snippetsFor } from '../../lib/snippets.ts'
import { t } from '../../strings/index.ts'
import { Price } from './price.tsx'

/** One model: limits, prices, what it takes, and the first call of it. */
export function ModelDrawer({ model, onClose }: { readonly model: ModelGroup; readonly onClose: () => void }) {
  const name = model.model_group
  const tryIt = model.mode === 'chat' && (
    <Link to="/chat" search={{ model: name }} className={buttonClass()}>
      {t('hub.try')}
    </Link>
  )
  return (
    <Drawer open onClose={onClose} title={name} actions={tryIt}>
      <div className="flex flex-col gap-6">
        <Facts
          facts={[
            { name: t('hub.model'), value: <Id id={name} /> },
            { name: t('hub.provider'), value: model.providers.join(', ') },
            { name: t('hub.mode'), value: model.mode ?? t('hub.unknown') },
            { name: t('hub.context'), value: <Tokens count={model.max_input_tokens} /> },
            { name: t('hub.answer'), value: <Tokens count={model.max_output_tokens} /> },
            { name: t('hub.input'), value: <Price perToken={model.input_cost_per_token} /> },
            { name: t('hub.output'), value: <Price perToken={model.output_cost_per_token} /> },
          ]}
        />
        {model.supported_openai_params.length > 0 && (
          <section className="flex flex-col gap-2">
            <h2 className="font-semibold">{t('hub.parameters')}</h2>
            <span className="flex flex-wrap gap-1">
              {model.supported_openai_params.map(one => (
                <Tag key={one}>{one}</Tag>
              ))}
            </span>
          </section>
        )}
        {model.mode === 'chat' && (
          <section className="flex flex-col gap-2">
            <h2 className="font-semibold">{t('hub.use')}</h2>
            <p className="text-muted">{t('hub.useHelp')}</p>
            <CodeBlock
              label={t('hub.use')}
              snippets={snippetsFor({ gateway: gatewayUrl, key: 'YOUR_KEY', model: name })}
            />
          </section>
        )}
      </div>
    </Drawer>
  )
}
