"""Metrics of pods and GPUs: a managed Prometheus, its scraper, the rules that alert, and the receivers of alerts.

CloudWatch would have them through Container Insights, at a price a metric and pod (docs/decisions/0033).
"""

from __future__ import annotations

from pathlib import Path

from aws_cdk import aws_aps as aps
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_sns as sns
from constructs import Construct

from cdk.deployment import Deployment
from cdk.log_group import LogGroup
from cdk.network.stack import NetworkStack

FOLDER = Path(__file__).resolve().parent
RULES = FOLDER / "rules"
SCRAPE = FOLDER / "scrape.yaml"
ALERT_MANAGER = FOLDER / "alert_manager.yaml"


class Prometheus(Construct):
    """`workspace`, whose `attr_prometheus_endpoint` Grafana asks.

    When a scraper is made for a cluster with access entries, AWS makes the scraper's entry; EKS lets nobody else make
    it.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        deployment: Deployment,
        network: NetworkStack,
        cluster: eks.Cluster,
        topic: sns.ITopic,
    ) -> None:
        super().__init__(scope, id)
        self.workspace = aps.CfnWorkspace(
            self,
            "Workspace",
            alias=deployment.prefix,
            alert_manager_definition=ALERT_MANAGER.read_text()
            .replace("@topic@", topic.topic_arn)
            .replace("@region@", deployment.region),
            logging_configuration=aps.CfnWorkspace.LoggingConfigurationProperty(
                log_group_arn=self._log_group("Rules", deployment, network)
            ),
        )
        self.workspace.node.add_dependency(topic)
        aps.CfnScraper(
            self,
            "Scraper",
            alias=deployment.prefix,
            # CloudFormation takes the text itself; only the API wants it in Base64.
            scrape_configuration=aps.CfnScraper.ScrapeConfigurationProperty(configuration_blob=SCRAPE.read_text()),
            source=aps.CfnScraper.SourceProperty(
                eks_configuration=aps.CfnScraper.EksConfigurationProperty(
                    cluster_arn=cluster.cluster_arn,
                    subnet_ids=[subnet.subnet_id for subnet in network.vpc.private_subnets],
                    security_group_ids=[cluster.cluster_security_group_id],  # nodes let their own group in
                )
            ),
            destination=aps.CfnScraper.DestinationProperty(
                amp_configuration=aps.CfnScraper.AmpConfigurationProperty(workspace_arn=self.workspace.attr_arn)
            ),
            scraper_logging_configuration=aps.CfnScraper.ScraperLoggingConfigurationProperty(
                logging_destination=aps.CfnScraper.ScraperLoggingDestinationProperty(
                    cloud_watch_logs=aps.CfnScraper.CloudWatchLogDestinationProperty(
                        log_group_arn=self._log_group("Scraper", deployment, network)
                    )
                ),
                scraper_components=[
                    aps.CfnScraper.ScraperComponentProperty(type=part)
                    for part in ("SERVICE_DISCOVERY", "COLLECTOR", "EXPORTER")
                ],
            ),
        )
        for file in sorted(RULES.glob("*.yaml")):
            aps.CfnRuleGroupsNamespace(
                self, f"{file.stem}Rules", workspace=self.workspace.attr_arn, name=file.stem, data=file.read_text()
            )

    def _log_group(self, of: str, deployment: Deployment, network: NetworkStack) -> str:
        """Make a log group, and return its ARN in the form for services that deliver logs."""
        group = LogGroup(
            self,
            f"{of}Logs",
            deployment=deployment,
            key=network.log_key,
            # Deliveries to groups with this prefix take no room in the log group policies, whose number is limited.
            name=f"/aws/vendedlogs/{deployment.prefix}/prometheus-{of.lower()}",
        )
        return group.log_group_arn
