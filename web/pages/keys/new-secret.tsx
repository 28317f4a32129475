import { useState } from 'react'
import { useModelNames } from '../../api/models.ts'
import { Button } from '../../components/button.tsx'
import { CodeBlock } from '../../components/text/code-block.tsx'
import { Dialog } from '../../components/overlays/dialog.tsx'
import { Secret } from '../../components/id.tsx'
import { gatewayUrl } from '../../lib/urls.ts'
import { snippetsFor } from '../../lib/snippets.ts'
import { t } from '../keys.page.ts'

interface NewSecretProps {
  readonly title: string
  readonly secret: string
  /** The models of the key; empty = all that its owner may call. */
  readonly models: readonly string[]
  readonly onClose: () => void
}

/** A key text, shown this once, with what to do with it. Closing before it was copied asks first. */
export function NewSecret({ title, secret, models, onClose }: NewSecretProps) {
  const [isCopied, setCopied] = useState(false)
  const [isWarned, setWarned] = useState(false)
  const names = useModelNames()
  const own = models.find(name => !name.includes('*') && names.data?.includes(name))
  const model = own ?? names.data?.[0] ?? models[0] ?? 'MODEL'
  const close = () => (isCopied || isWarned ? onClose() : setWarned(true))
  return (
    <Dialog
      open
      isWide
      isModalOnly
      onClose={close}
      title={title}
      actions={
        <Button kind={isCopied ? 'primary' : 'plain'} onClick={isCopied || isWarned ? onClose : () => setWarned(true)}>
          {isCopied ? t('keys.haveCopied') : isWarned ? t('keys.closeAnyway') : t('all.close')}
        </Button>
      }
    >
      <Secret secret={secret} onCopied={() => setCopied(true)} />
      {isWarned && !isCopied && (
        <p role="alert" className="border-l-2 border-warn pl-3">
          {t('keys.notCopied')}
        </p>
      )}
      <CodeBlock label={t('keys.firstCall')} snippets={snippetsFor({ gateway: gatewayUrl, key: secret, model })} />
    </Dialog>
  )
}
