import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { ApiClient } from './api/client';
import { pushFrom } from './api/live/push';
import { App } from './app/App';
import { Fatal } from './app/ErrorPages';
import { applyTheme } from './app/theme';
import { loadConfig } from './config/config';
import { beginSession } from './session/begin';
import './styles.css';

applyTheme();
const place = document.getElementById('root');
if (place === null) throw new Error('index.html has no place for the page.');
const root = createRoot(place);
try {
  const config = await loadConfig();
  const session = await beginSession(config);
  root.render(
    <StrictMode>
      <App
        session={session}
        api={new ApiClient(config.apiUrl, session)}
        push={pushFrom(config.realtimeUrl, session)}
      />
    </StrictMode>,
  );
} catch (error) {
  root.render(<Fatal error={error} />);
}
