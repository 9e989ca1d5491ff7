import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { ApiClient } from './api/client';
import { makeSubscribe } from './api/live/push';
import { App } from './app/App';
import { StartupError } from './app/ErrorPages';
import { applyTheme } from './app/theme';
import { loadConfig } from './config/config';
import { beginSession } from './session/begin_session';
import './styles.css';

applyTheme();
const place = document.getElementById('root');
if (place === null) throw new Error('index.html has no element for the page.');
const root = createRoot(place);
try {
  const config = await loadConfig();
  const session = await beginSession(config);
  root.render(
    <StrictMode>
      <App
        session={session}
        api={new ApiClient(config.apiUrl, session)}
        push={makeSubscribe(config.realtimeUrl, session)}
      />
    </StrictMode>,
  );
} catch (error) {
  root.render(<StartupError error={error} />);
}
